package redact_test

import (
	"strings"
	"sync"
	"testing"

	"mcpwire/internal/redact"
)

func TestTheLongestKnownSecretIsMaskedWhole(t *testing.T) {
	set := redact.NewSet("abcd", "abcdefgh", "", "x", "${A}")
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			if got := set.Text("abcdefgh abcd x ${A}"); got != "*** *** x ***" {
				t.Errorf("got %q", got)
			}
		})
	}
	wait.Wait()
	for _, none := range []*redact.Set{nil, {}, redact.NewSet()} {
		if got := none.Text("as it is"); got != "as it is" {
			t.Errorf("got %q", got)
		}
	}
}

func TestTokensAreMaskedInWhateverShapeTheyCome(t *testing.T) {
	const token = "q7Zk2LmP9xQwR4"
	for _, row := range []struct{ in, want string }{
		{"Authorization: Bearer " + token, "Authorization: Bearer ***"},
		{"bearer%20" + token + "==", "bearer%20***"},
		{"sent BASIC  dXNlcjpwYXNz, refused", "sent BASIC ***, refused"},
		{`{"authorization":"Bearer ` + token + `","n":1}`, `{"authorization":"***","n":1}`},
		{`{"sent":"Bearer ` + token + `"}`, `{"sent":"Bearer ***"}`},
		{"Bearer token is missing", "Bearer token is missing"},
		{`Bearer realm="x", error="invalid_token"`, `Bearer realm="x", error="invalid_token"`},
		{"got eyJhbGciOiJIUzI1NiJ9." + token + ".sig-_x.", "got ***"},
		{"got eyJhbGciOi", "got ***"},
		{"sk-proj-" + token + " and ghp_" + token + token, "*** and ***"},
		{"risk-free task-list", "risk-free task-list"},
		{`{"refresh_token" : "a\"` + token + `" , "x":1}`, `{"refresh_token" : "***" , "x":1}`},
		{`{"Client_Secret":"` + token, `{"Client_Secret":"***"`},
		{`{"password":"` + token + `\`, `{"password":"***"`},
		{`{"text":"{\"access_token\":\"` + token + `\",\"a\":1}"}`, `{"text":"{\"access_token\":\"***\",\"a\":1}"}`},
		{"grant_type=x&refresh_token=" + token + "&a=b", "grant_type=x&refresh_token=***&a=b"},
		{`{"tokenizer":3,"error":"invalid_token"}`, `{"tokenizer":3,"error":"invalid_token"}`},
	} {
		got := redact.Excerpt([]byte(row.in), 200)
		if got != row.want || strings.Contains(got, token) {
			t.Errorf("%s: got %s, want %s", row.in, got, row.want)
		}
	}
}

func TestACutLeavesNoBeginningOfAToken(t *testing.T) {
	in := "refused: Bearer abcdefghijklmnopqrstuvwxyz0123456789"
	for limit := range len(in) + 1 {
		if got := redact.Excerpt([]byte(in), limit); strings.Contains(got, "abc") || strings.Contains(got, "z01") {
			t.Errorf("%d: got %q", limit, got)
		}
	}
}

func TestInvisibleCharactersAreLeftOut(t *testing.T) {
	for _, row := range []struct{ in, want string }{
		{"a\u202eb\u200bc\ufeff", "abc"},
		{"a\u009b31mb\x07\x7f", "a 31mb"},
		{"a\u2028b\u0085\u00a0c", "a b c"},
		{"读取 — ✅", "读取 — ✅"},
	} {
		if got := redact.Line(row.in, 100); got != row.want {
			t.Errorf("%q: got %q, want %q", row.in, got, row.want)
		}
	}
}

func TestURLsKeepTheRestAsItStands(t *testing.T) {
	for raw, want := range map[string]string{
		"https://h/a%2Fb?q=a+b%20c&x-amz-signature=1#top":     "https://h/a%2Fb?q=a+b%20c&x-amz-signature=***#top",
		"https://h/cb#access_token=t&state=s":                 "https://h/cb#access_token=***&state=s",
		"https://h/?client%5Fsecret=s&%zz=1":                  "https://h/?client%5Fsecret=***&%zz=***",
		"https://h/eyJhbGciOi.eyJzdWIiOi.sig/sse":             "https://h/***/sse",
		"http://[::1]:8080/mcp":                               "http://[::1]:8080/mcp",
		"http://u:p%40x@proxy:3128":                           "http://***@proxy:3128",
		"https://h/?db_pass=p&x-auth=a&PAT=t&db.dsn=d&path=x": "https://h/?db_pass=***&x-auth=***&PAT=***&db.dsn=***&path=x",
		"mailto:me@example.com":                               "***",
		"http://u:secret@h:port/?token=t":                     "http://***",
	} {
		if got := redact.URL(raw); got != want {
			t.Errorf("%s: got %s, want %s", raw, got, want)
		}
	}
}
