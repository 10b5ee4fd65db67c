package localhost_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"mcpwire/internal/localhost"
)

func TestOnlyThisMachineIsServed(t *testing.T) {
	h := localhost.Only(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for _, row := range []struct {
		host, origin string
		want         int
	}{
		{"127.0.0.1:80", "", 200},
		{"localhost:80", "http://localhost:3000", 200},
		{"LOCALHOST.", "https://app.localhost", 200},
		{"[::1]:80", "http://[::1]", 200},
		{"evil.example:80", "", 403},
		{"localhost.evil.example", "", 403},
		{"127.0.0.1.evil.example:80", "", 403},
		{"10.0.0.1:80", "", 403},
		{"", "", 403},
		{"127.0.0.1:80", "https://evil.example", 403},
		{"127.0.0.1:80", "null", 403},
	} {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Host = row.host
		if row.origin != "" {
			r.Header.Set("Origin", row.origin)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != row.want {
			t.Errorf("%+v: got %d", row, w.Code)
		}
	}
}
