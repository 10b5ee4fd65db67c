package redact_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"mcpwire/internal/redact"
)

func TestKnownSecretsAreMasked(t *testing.T) {
	got := redact.NewSet("abcd", "abcdef", "abc", "").Text("key abcd and abcdef, not abc")
	if got != "key *** and ***, not abc" {
		t.Errorf("got %q", got)
	}
}

// secretNames are names whose values are secret, and others that look like them.
var secretNames = map[string]bool{
	"API_KEY": true, "apikey": true, "X-Api-Key": true, "DB_PASS": true, "X-Auth": true, "X-Auth-Token": true, "auth": true,
	"Authorization": true, "Proxy-Authorization": true, "Cookie": true, "Set-Cookie": true, "SSH_PASSPHRASE": true,
	"GITHUB_PAT": true, "pat": true, "SENTRY_DSN": true, "dsn": true, "client_secret": true, "code": true, "Db.Pwd": true,
	"GOOGLE_APPLICATION_CREDENTIALS": true,
	"PATH":                           false, "PATTERN": false, "DSN_FILE": false, "compass": false, "author": false, "encode": false, "Accept": false,
	"MODE": false, "": false, "_": false, "state": false,
}

func TestSecretsAreKnownByTheirNames(t *testing.T) {
	for name, want := range secretNames {
		if got := redact.SecretName(name); got != want {
			t.Errorf("%s: got %v", name, got)
		}
		values := redact.Secrets(map[string]string{name: "v"})
		if got := len(values) == 1 && values[0] == "v"; got != want || len(values) > 1 {
			t.Errorf("%s: Secrets gives %q", name, values)
		}
		if name == "" {
			continue
		}
		shown := map[bool]string{true: "***", false: "v"}[want]
		if got := redact.URL("https://h/?" + name + "=v"); got != "https://h/?"+name+"="+shown {
			t.Errorf("%s: URL gives %s", name, got)
		}
	}
}

func TestSecretsInURLsAreMasked(t *testing.T) {
	for raw, want := range map[string]string{
		"https://h/mcp":                        "https://h/mcp",
		"https://user:pass@h:1/mcp?x=1":        "https://***@h:1/mcp?x=1",
		"https://token@h/":                     "https://***@h/",
		"https://h/?api_key=k&x=1&Token=t&sig": "https://h/?api_key=***&x=1&Token=***&sig",
		"https://h/?code=c&state=s":            "https://h/?code=***&state=s",
		"https://u:p@[::1":                     "https://***",
		"://":                                  "://***",
		"no url %zz":                           "***",
		"":                                     "",
	} {
		if got := redact.URL(raw); got != want {
			t.Errorf("%s: got %s, want %s", raw, got, want)
		}
	}
}

func TestAnExcerptIsOneBoundedLineWithoutSecrets(t *testing.T) {
	for _, row := range []struct{ body, want string }{
		{"a\r\n\tb\x1b[31m c\x00", "a b [31m c"},
		{"sent Bearer abc.def-123 on", "sent Bearer *** on"},
		{`{"access_token":"a\"b","x":1}`, `{"access_token":"***","x":1}`},
		{`{"client_secret" : "s`, `{"client_secret" : "***"`},
		{"eyJhbGciOi.eyJzdWIiOi.sig", "***"},
		{"key sk-abcdefgh12345 used", "key *** used"},
		{"broken \xff byte", "broken \uFFFD byte"},
		{strings.Repeat("é", 40), strings.Repeat("é", 25) + "…"},
		{"", ""},
	} {
		if got := redact.Excerpt([]byte(row.body), 50); got != row.want {
			t.Errorf("%q: got %q, want %q", row.body, got, row.want)
		}
	}
	if got := redact.Excerpt([]byte(strings.Repeat(" ", 1000)+"x"), 50); got != "…" {
		t.Errorf("got %q", got)
	}
	if got := redact.Line(`Bearer realm="x"`+"\n", 50); got != `Bearer realm="x"` {
		t.Errorf("got %q", got)
	}
}

func FuzzExcerpt(f *testing.F) {
	for _, s := range []string{"Bearer abcdefgh", "\xff\xc3", `{"token":"x\`, "é\n"} {
		f.Add([]byte(s), 10)
	}
	f.Fuzz(func(t *testing.T, body []byte, limit int) {
		limit = 1 + max(0, limit)%300
		got := redact.Excerpt(body, limit)
		if len(got) > limit+len("…") || !utf8.ValidString(got) || strings.ContainsAny(got, "\r\n\x1b\x00") {
			t.Errorf("%q, %d: got %q", body, limit, got)
		}
	})
}
