package telemetry

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.opentelemetry.io/otel/propagation"

	"mcpwire/internal/jsonscan"
	"mcpwire/internal/redact"
	"mcpwire/jsonrpc"
	"mcpwire/rpc"
	"mcpwire/transport"
)

// Attributes of the semantic conventions, and one of our own: what the host calls a server.
const (
	keyMethod    = "mcp.method.name"
	keyRevision  = "mcp.protocol.version"
	keySession   = "mcp.session.id"
	keyResource  = "mcp.resource.uri"
	keyTool      = "gen_ai.tool.name"
	keyPrompt    = "gen_ai.prompt.name"
	keyOperation = "gen_ai.operation.name"
	keyID        = "jsonrpc.request.id"
	keyStatus    = "rpc.response.status_code"
	keyError     = "error.type"
	keyTransport = "network.transport"
	keyProtocol  = "network.protocol.name"
	keyAddress   = "server.address"
	keyPort      = "server.port"
	keyServer    = "mcpwire.server.name"
)

// cancelled is the error.type of what nobody waits for any more.
const cancelled = "cancelled"

// valid returns text as exporters can encode it.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// resource returns a resource's URI without what looks secret in it.
func resource(uri string) string { return valid(redact.URL(uri)) }

// idText returns an id as it stands on the wire; a string without its quotation marks.
func idText(id jsonrpc.ID) string {
	text := id.String()
	if strings.HasPrefix(text, `"`) {
		return valid(string(jsonscan.Unquote([]byte(text))))
	}
	return text
}

// classify returns the error.type of an error, and the code of a JSON-RPC error, where it is one. ctx is that of the
// request.
func classify(ctx context.Context, err error) (kind, code string) {
	answer, answered := errors.AsType[*jsonrpc.Error](err)
	refusal, refused := errors.AsType[*rpc.Refusal](err)
	status, hasStatus := errors.AsType[*transport.StatusError](err)
	switch {
	case errors.Is(err, transport.ErrSessionLost):
		return "session_lost", ""
	case answered:
		code = strconv.FormatInt(answer.Code, 10)
		return code, code
	case refused:
		code = strconv.FormatInt(refusal.Code, 10)
		return code, code
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout", ""
	case errors.Is(err, context.Canceled), ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return "timeout", ""
		}
		return cancelled, ""
	case errors.Is(err, transport.ErrLoginRequired):
		return "login_required", ""
	case hasStatus:
		return strconv.Itoa(status.Status), ""
	}
	return classifyCarriage(err), ""
}

// classifyCarriage returns the error.type of a failure of the carrier.
func classifyCarriage(err error) string {
	_, exited := errors.AsType[*transport.ExitError](err)
	_, missing := errors.AsType[*transport.NoResponseError](err)
	_, malformed := errors.AsType[*transport.MalformedError](err)
	_, undecoded := errors.AsType[*rpc.DecodeError](err)
	switch {
	case errors.Is(err, transport.ErrTooLarge):
		return "too_large"
	case exited:
		return "process_exited"
	case errors.Is(err, transport.ErrClosed):
		return "connection_closed"
	case missing:
		return "no_response"
	case malformed, undecoded:
		return "malformed_response"
	}
	return "_OTHER"
}

// ordinary reports whether a subscription, which ends with an error always, has ended as it should.
func ordinary(err error) bool {
	return errors.Is(err, rpc.ErrEnded) || errors.Is(err, context.Canceled)
}

// described is how many bytes of an error a span tells.
const described = 300

// description is the text of an error for a span: that of the server, where it has refused.
func description(err error) string {
	if err == nil {
		return ""
	}
	text := err.Error()
	if answer, ok := errors.AsType[*jsonrpc.Error](err); ok {
		text = answer.Message
	} else if refusal, ok := errors.AsType[*rpc.Refusal](err); ok {
		text = refusal.Message
	}
	return redact.Excerpt([]byte(text), described)
}

// inject returns an object with what the propagator wants to be sent; nil for nothing. What meta, the host's own, has
// already stays as the host has it; a tracestate belongs to its traceparent.
func inject(ctx context.Context, p propagation.TextMapPropagator, meta json.RawMessage) json.RawMessage {
	var members pairs
	p.Inject(ctx, &members)
	if len(members) == 0 {
		return nil
	}
	// Meta that is no object fails the request.
	_ = jsonscan.Members(meta, func(name, _ []byte) error {
		members.drop(string(name))
		if string(name) == "traceparent" {
			members.drop("tracestate")
		}
		return nil
	})
	if len(members) == 0 {
		return nil
	}
	object := []byte{'{'}
	for i, m := range members {
		if i > 0 {
			object = append(object, ',')
		}
		object, _ = jsontext.AppendQuote(object, m.key) // broken UTF-8 becomes U+FFFD, and the error only says so
		object = append(object, ':')
		object, _ = jsontext.AppendQuote(object, m.value)
	}
	return append(object, '}')
}

// extracted returns the members of meta that the propagator reads.
func extracted(p propagation.TextMapPropagator, meta json.RawMessage) *pairs {
	var members pairs
	fields := p.Fields()
	_ = jsonscan.Members(meta, func(name, value []byte) error {
		for _, field := range fields {
			if string(name) == field && value[0] == '"' {
				members.Set(field, string(jsonscan.Unquote(value)))
			}
		}
		return nil
	})
	return &members
}

// pairs are a propagation.TextMapCarrier of the few members that there are.
type pairs []struct{ key, value string }

// Get implements propagation.TextMapCarrier.
func (p *pairs) Get(key string) string {
	for _, m := range *p {
		if m.key == key {
			return m.value
		}
	}
	return ""
}

// Set implements propagation.TextMapCarrier.
func (p *pairs) Set(key, value string) {
	p.drop(key)
	*p = append(*p, struct{ key, value string }{key, value})
}

// Keys implements propagation.TextMapCarrier.
func (p *pairs) Keys() []string {
	keys := make([]string, len(*p))
	for i, m := range *p {
		keys[i] = m.key
	}
	return keys
}

func (p *pairs) drop(key string) {
	for i, m := range *p {
		if m.key == key {
			*p = append((*p)[:i], (*p)[i+1:]...)
			return
		}
	}
}
