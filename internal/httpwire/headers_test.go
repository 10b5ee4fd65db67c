package httpwire_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"mcpwire/internal/httpwire"
)

// Headers are made once for many requests, and whoever stands around the connections may write into those of a request.
func TestWhatARoundTripperWritesIntoHeadersIsNotInTheNextRequest(t *testing.T) {
	var seen []http.Header
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Clone())
	}))
	defer server.Close()
	for _, wrapped := range []bool{false, true} {
		seen = nil
		o := httpwire.Options{URL: "http://me:word@" + server.Listener.Addr().String(), Headers: map[string]string{"X-Own": "1"}}
		if wrapped {
			o.Wrap = func(base http.RoundTripper) http.RoundTripper {
				return roundTripper(func(r *http.Request) (*http.Response, error) {
					r.Header.Add("X-Own", "2")
					r.Header.Add("X-Late", "3")
					return base.RoundTrip(r)
				})
			}
		}
		e, err := httpwire.New(o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(e.Close)
		headers := e.Headers(http.Header{"Accept": {"text/plain"}})
		for _, h := range []httpwire.Headers{headers, headers.With(http.Header{"Mcp-Name": {"x"}}), headers, {}} {
			resp, _, err := e.Do(t.Context(), httpwire.Request{Method: http.MethodPost, Body: []byte("{}"), Headers: h})
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
		for i, h := range seen {
			own, named := h["X-Own"], h.Get("Mcp-Name") != ""
			if len(own) != 1 && !wrapped || wrapped && (len(own) != 2 || len(h["X-Late"]) != 1) || named != (i == 1) {
				t.Errorf("request %d (wrapped: %v) has %v", i, wrapped, h)
			}
			if _, _, ok := (&http.Request{Header: h}).BasicAuth(); !ok || h.Get("Accept-Encoding") != "gzip" {
				t.Errorf("request %d (wrapped: %v) has %v", i, wrapped, h)
			}
		}
	}
}
