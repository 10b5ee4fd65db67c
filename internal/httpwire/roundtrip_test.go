package httpwire_test

import (
	"crypto/tls"
	"errors"
	"net/http"
	"net/url"
	"testing"

	"mcpwire/internal/httpwire"
)

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// What goes wrong in a round trip is told as an http.Client tells it, which is not used.
func TestARoundTripFailsAsWithAClient(t *testing.T) {
	leading := func(status int, to string) roundTripper {
		return func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: status, Header: http.Header{"Location": {to}}, Body: http.NoBody}, nil
		}
	}
	for name, tripper := range map[string]roundTripper{
		"301 to no address": leading(http.StatusMovedPermanently, "http://h:x/"),
		"303 to no address": leading(http.StatusSeeOther, "http://h:x/"),
		"307 to no address": leading(http.StatusTemporaryRedirect, "http://h:x/"),
		"303":               leading(http.StatusSeeOther, "/elsewhere"),
		"201 to no address": leading(http.StatusCreated, "http://h:x/"),
		"nothing":           func(*http.Request) (*http.Response, error) { return nil, nil },
		"a failure":         func(*http.Request) (*http.Response, error) { return nil, errors.New("out of order") },
		"no TLS": func(*http.Request) (*http.Response, error) {
			return nil, tls.RecordHeaderError{Msg: "no", RecordHeader: [5]byte([]byte("HTTP/"))}
		},
		"no body": func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, ContentLength: 7}, nil
		},
		"an empty body": func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: http.StatusOK}, nil },
	} {
		e, err := httpwire.New(httpwire.Options{
			URL: "http://127.0.0.1", Wrap: func(http.RoundTripper) http.RoundTripper { return tripper },
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(e.Close)
		client := &http.Client{Transport: tripper, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}}
		want, wantErr := client.Get("http://127.0.0.1")
		if failed, ok := errors.AsType[*url.Error](wantErr); ok {
			wantErr = failed.Err
		}
		got, _, err := e.Do(t.Context(), httpwire.Request{Method: http.MethodGet})
		if wantErr != nil {
			if err == nil || err.Error() != wantErr.Error() {
				t.Errorf("%s: got %v, want %v", name, err, wantErr)
			}
			continue
		}
		if err != nil || got.StatusCode != want.StatusCode || got.Body == nil {
			t.Errorf("%s: got %v, %v", name, got, err)
			continue
		}
		_, _ = got.Body.Close(), want.Body.Close()
	}
}
