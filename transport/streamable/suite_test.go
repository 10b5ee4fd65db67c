package streamable_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/http/httptest"
	"testing"

	"mcpwire/transport"
	"mcpwire/transport/streamable"
	"mcpwire/transport/transporttest"
)

func TestStreamableHTTPKeepsTheContract(t *testing.T) {
	for _, row := range []struct {
		name   string
		events bool
		tls    bool
	}{
		{"JSON answers", false, false},
		{"event streams", true, false},
		{"JSON answers over TLS with HTTP/2", false, true},
		{"event streams over TLS with HTTP/2", true, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := transporttest.Harness{Silent: !row.events}
			if row.events {
				h.Waiting = "SSE response"
			}
			h.Open = func(t *testing.T, b transporttest.Behaviour, maxMessage int, r transport.Receiver) transport.Conn {
				t.Helper()
				server := httptest.NewUnstartedServer(transporttest.NewHTTPServer(b, row.events))
				o := streamable.Options{Name: "fake", MaxMessage: maxMessage}
				if row.tls {
					server.EnableHTTP2 = true
					server.StartTLS()
					roots := x509.NewCertPool()
					roots.AddCert(server.Certificate())
					o.TLS = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
				} else {
					server.Start()
				}
				t.Cleanup(server.Close)
				o.URL = server.URL
				conn, err := streamable.New(o).Open(t.Context(), r)
				if err != nil {
					t.Fatal(err)
				}
				return conn
			}
			transporttest.Run(t, h)
		})
	}
}
