package oneshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"

	"mcpwire/internal/httpwire"
	"mcpwire/transport"
)

// A poster sends one request.
type poster struct {
	post  func(ctx context.Context, body []byte) (*http.Response, transport.Delivery, error)
	close func()
	httpwire.Quotes
}

func (c Caller) poster(address string) (poster, error) {
	protocol := http.Header{
		"Content-Type": {"application/json"},
		"Accept":       {"application/json, text/event-stream"},
	}
	if c.Client != nil {
		return c.withClient(address, protocol), nil
	}
	endpoint, err := httpwire.New(httpwire.Options{URL: address, Headers: c.Headers})
	if err != nil {
		return poster{}, err
	}
	post := func(ctx context.Context, body []byte) (*http.Response, transport.Delivery, error) {
		headers := endpoint.Headers(protocol)
		return endpoint.Do(ctx, httpwire.Request{Method: http.MethodPost, Body: body, Headers: headers})
	}
	return poster{post, endpoint.Close, endpoint.Quotes}, nil
}

// withClient leaves all to the caller's client. Whether a request that failed was sent is its secret.
func (c Caller) withClient(address string, protocol http.Header) poster {
	post := func(ctx context.Context, body []byte) (*http.Response, transport.Delivery, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
		if err != nil {
			return nil, transport.NotDelivered, fmt.Errorf("the url is not valid: %w", withoutURL(err))
		}
		for name, value := range c.Headers {
			if value != "" {
				req.Header.Set(name, value)
			}
		}
		maps.Copy(req.Header, protocol)
		if host := req.Header.Get("Host"); host != "" {
			req.Host = host
			req.Header.Del("Host")
		}
		resp, err := c.Client.Do(req)
		return resp, transport.MaybeDelivered, withoutURL(err)
	}
	return poster{post, func() {}, httpwire.Knowing(httpwire.Options{URL: address, Headers: c.Headers})}
}

// withoutURL keeps the URL out of an error, since it may hold a secret.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}
