package survival

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"mcpwire"
	"mcpwire/config"
)

// redirectRows are about being sent elsewhere.
func redirectRows() []Row {
	const moved = "redirected to another origin, which is not followed"
	locations := []struct{ name, does, location, want string }{
		{"scheme-ftp", "ftp", "ftp://127.0.0.1/mcp", moved},
		{"scheme-file", "a file", "file:///etc/passwd", moved},
		{"scheme-data", "data", "data:application/json,{}", moved},
		{"scheme-script", "a script", "javascript:alert(1)", moved},
		{"private", "an address of a private network", "http://192.168.0.1/mcp", moved},
		{"metadata", "the metadata of a cloud", "http://169.254.169.254/latest/meta-data/", moved},
		{"localhost", "the same port by another name", "http://localhost:$port/mcp", moved},
		{"port", "another port", "http://127.0.0.1:1/mcp", moved},
		{"no-scheme", "another host without a scheme", "//evil.example/mcp", moved},
		{"user", "another host behind what looks like this one", "http://127.0.0.1:$port@evil.example/mcp", moved},
		{"garbage", "no address", "http://[::1", "Location header"},
		{"garbage-port", "a port that is none", "http://127.0.0.1:secretport/mcp", "Location header"},
		{"long", "an address of 500 KiB", "http://evil.example/" + strings.Repeat("m", 500<<10), moved},
		{"nowhere", "nowhere", "", "HTTP 307"},
	}
	var rows []Row
	for _, l := range locations {
		rows = append(rows, Row{
			Name: "web/redirect/" + l.name, Does: "redirects a call to " + l.does,
			Must: "not go there, say so, and keep the line",
			Web: spoils("tools/call", func(x *Exchange) {
				_, port, _ := strings.Cut(x.Request.Host, ":")
				x.Header()["Location"] = []string{strings.ReplaceAll(l.location, "$port", port)}
				x.WriteHeader(http.StatusTemporaryRedirect)
			}),
			Try: costsOne(l.want),
		})
	}
	return join([]Row{loopRow()}, rows, sameOriginRows(), strangerRows())
}

func loopRow() Row {
	return Row{
		Name: "web/redirect/loop", Does: "redirects everything to an address that redirects back",
		Must: "follow five times, and say so",
		Web: func(w *Web) http.Handler {
			return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
				w.Count("came")
				to := "/a"
				if r.URL.Path == to {
					to = "/b"
				}
				http.Redirect(out, r, to, http.StatusPermanentRedirect)
			})
		},
		Try: func(t *Trial) {
			cannotConnect("more than 5 redirects")(t)
			t.Seen("came", 6, 6)
		},
	}
}

// sameOriginRows are about redirects that stay where they are.
func sameOriginRows() (rows []Row) {
	for _, status := range []int{301, 302, 307, 308} {
		rows = append(rows, Row{
			Name: fmt.Sprintf("web/redirect/same-%d", status),
			Does: fmt.Sprintf("redirects everything with %d to another path of its own", status),
			Must: "follow, with method, body and credentials, and go there directly from then on",
			With: func(s *config.Server, _ *mcpwire.Options) {
				s.Headers = map[string]string{"Authorization": "Bearer sesame"}
			},
			Web: func(w *Web) http.Handler {
				served := w.Serve(nil)
				return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
					switch {
					case r.URL.Path == "/mcp":
						w.Count("old")
						http.Redirect(out, r, "/new/?x=1", status)
					case r.Header.Get("Authorization") != "Bearer sesame" || r.URL.RawQuery != "x=1":
						out.WriteHeader(http.StatusUnauthorized)
					default:
						served.ServeHTTP(out, r)
					}
				})
			},
			Try: func(t *Trial) {
				worksTwice(t)
				t.Seen("old", 1, 1)
				t.Seen("tools/call", 2, 2)
			},
		})
	}
	return append(rows, Row{
		Name: "web/redirect/303", Does: "redirects a call with 303, which would make another request of it",
		Must: "take it for a refusal",
		Web: spoils("tools/call", func(x *Exchange) {
			http.Redirect(x, x.Request, "/elsewhere", http.StatusSeeOther)
		}),
		Try: costsOne("HTTP 303"),
	})
}

// strangerRows are about another server that a redirect leads to, which must not hear anything.
func strangerRows() (rows []Row) {
	for _, status := range []int{301, 302, 307, 308} {
		for _, stage := range []string{"server/discover", "tools/call", "GET", "DELETE"} {
			rows = append(rows, Row{
				Name: fmt.Sprintf("web/redirect/stranger-%d-%s", status, strings.ToLower(strings.ReplaceAll(stage, "/", "-"))),
				Does: fmt.Sprintf("redirects %s with %d to another server", stage, status),
				Must: "not send anything there",
				With: func(s *config.Server, o *mcpwire.Options) {
					s.Headers = map[string]string{"Authorization": "Bearer sesame"}
					listening(s, o)
				},
				Web: func(w *Web) http.Handler {
					stranger := w.Other(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { w.Count("stranger") }))
					return w.withSessions(nil, never, func(x *Exchange, method string) bool {
						if method == stage {
							http.Redirect(x, x.Request, stranger+"/mcp", status)
						}
						return method == stage
					})
				},
				Try: func(t *Trial) { t.meetStranger(stage) },
			})
		}
	}
	return append(rows, httpsRow())
}

func (t *Trial) meetStranger(stage string) {
	defer t.Seen("stranger", 0, 0)
	c, err := t.Dial()
	if err != nil {
		if stage != "server/discover" {
			t.Fail("it can't connect: %v", err)
		}
		t.WantError(err, "redirected to another origin")
		return
	}
	if stage == "tools/call" {
		t.Refused(c, "redirected to another origin")
	} else {
		t.Works(c)
	}
	if !t.Web.Await(t.Context, "GET", 1) {
		t.Fail("nobody asked for the standing stream")
	}
	if err := c.Close(t.Context); err != nil {
		t.Fail("it can't be closed: %v", err)
	}
}

// httpsRow is about being sent to the safer scheme: its certificate counts as always.
func httpsRow() Row {
	return Row{
		Name: "web/redirect/https", Does: "redirects a call to its own host by HTTPS, with a certificate that nobody signed",
		Must: "refuse the certificate, and not send anything there",
		Web: func(w *Web) http.Handler {
			safe := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { w.Count("stranger") }))
			safe.Config.ErrorLog = silent()
			safe.StartTLS()
			w.keep(safe)
			return spoils("tools/call", func(x *Exchange) {
				http.Redirect(x, x.Request, safe.URL+"/mcp", http.StatusPermanentRedirect)
			})(w)
		},
		Try: func(t *Trial) {
			costsOne("certificate")(t)
			t.Seen("stranger", 0, 0)
		},
	}
}
