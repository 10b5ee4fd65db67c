package legacysse_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/http/httptest"
	"testing"

	"mcpwire/transport"
	"mcpwire/transport/legacysse"
	"mcpwire/transport/transporttest"
)

func TestHTTPWithSSEKeepsTheContract(t *testing.T) {
	for name, secure := range map[string]bool{"plain": false, "over TLS with HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			h := transporttest.Harness{Shared: true, Posts: true}
			h.Open = func(t *testing.T, b transporttest.Behaviour, maxMessage int, r transport.Receiver) transport.Conn {
				t.Helper()
				server := httptest.NewUnstartedServer(transporttest.NewSSEServer(b))
				o := legacysse.Options{Name: "fake", MaxMessage: maxMessage}
				if secure {
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
				conn, err := legacysse.New(o).Open(t.Context(), r)
				if err != nil {
					t.Fatal(err)
				}
				return conn
			}
			transporttest.Run(t, h)
		})
	}
}
