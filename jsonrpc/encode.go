package jsonrpc

import (
	"encoding/json"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// AppendRequest appends a request to dst. Params are left out when they are empty; otherwise they must be one JSON
// object or array.
func AppendRequest(dst []byte, id ID, method string, params json.RawMessage) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(id.Append(dst), ',')
	return appendCall(dst, method, params)
}

// AppendNotification appends a notification to dst, with params as in AppendRequest.
func AppendNotification(dst []byte, method string, params json.RawMessage) []byte {
	dst = append(dst, `{"jsonrpc":"2.0",`...)
	return appendCall(dst, method, params)
}

func appendCall(dst []byte, method string, params json.RawMessage) []byte {
	dst = append(dst, `"method":`...)
	dst = appendQuoted(dst, method)
	if len(params) > 0 {
		dst = append(dst, `,"params":`...)
		dst = append(dst, params...)
	}
	return append(dst, '}')
}

// AppendResult appends the answer to the request id to dst. An empty result is written as {}.
func AppendResult(dst []byte, id ID, result json.RawMessage) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(id.Append(dst), `,"result":`...)
	if len(result) == 0 {
		return append(dst, `{}}`...)
	}
	dst = append(dst, result...)
	return append(dst, '}')
}

// AppendError appends the refusal of the request id to dst.
func AppendError(dst []byte, id ID, e *Error) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(id.Append(dst), `,"error":{"code":`...)
	dst = strconv.AppendInt(dst, e.Code, 10)
	dst = append(dst, `,"message":`...)
	dst = appendQuoted(dst, e.Message)
	if len(e.Data) > 0 {
		dst = append(dst, `,"data":`...)
		dst = append(dst, e.Data...)
	}
	return append(dst, `}}`...)
}

func appendQuoted(dst []byte, s string) []byte {
	// Broken UTF-8 becomes U+FFFD, and the error only says so.
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}
