package redact_test

import (
	"strings"
	"testing"

	"mcpwire/internal/redact"
)

func TestAMessageIsRecordedWithoutSecrets(t *testing.T) {
	const token = "q7Zk2LmP9xQwR4"
	known := redact.NewSet("hunter2!", `with "quotes"`).Text
	for _, row := range []struct{ in, want string }{
		{`{"jsonrpc":"2.0", "id":1, "result":{}}`, `{"jsonrpc":"2.0", "id":1, "result":{}}`},
		{`{"text":"it is hunter2!, they say"}`, `{"text":"it is ***, they say"}`},
		{`{"text":"it is hunter2\u0021"}`, `{"text":"it is ***"}`},
		{`{"text":"with \"quotes\""}`, `{"text":"***"}`},
		{`{"hunter2!":1,"sk-` + token + `":2}`, `{"***":1,"***":2}`},
		{`{"password":"a","n":1}`, `{"password":"***","n":1}`},
		{`{"Api_Key":"a","apiKey":"b","api-key":"c"}`, `{"Api_Key":"***","apiKey":"***","api-key":"***"}`},
		{`{"properties":{"password":{"type":"string"}},"required":["password"]}`, ``},
		{`{"_meta":{"progressToken":"7"},"maxTokens":5,"key":"a"}`, ``},
		{`{"headers":{"Cookie":"a=b","Set-Cookie":"c=d"}}`, `{"headers":{"Cookie":"***","Set-Cookie":"***"}}`},
		{`{"text":"Cookie: sid=abc; theme=dark\r\nHost: x"}`, `{"text":"Cookie: ***\r\nHost: x"}`},
		{`{"text":"a cookie is baked"}`, ``},
		{`{"text":"Authorization: Bearer ` + token + `"}`, `{"text":"Authorization: Bearer ***"}`},
		{`{"text":"{\"access_token\":\"` + token + `\"}"}`, `{"text":"{\"access_token\":\"***\"}"}`},
		{`{"text":"\u0062earer ` + token + `"}`, `{"text":"bearer ***"}`},
		{`{"text":"a \\ b"}`, ``},
		{`[{"secret":"a"},{"x":"sk-` + token + `"}]`, `[{"secret":"***"},{"x":"***"}]`},
		{`noise, Bearer ` + token, `noise, Bearer ***`},
		{`{"secret":"` + token, `{"secret":"***"`},
		{`hunter2! "password"`, `*** "password"`},
	} {
		want := row.want
		if want == "" {
			want = row.in
		}
		if got := string(redact.Message([]byte(row.in), known)); got != want {
			t.Errorf("%s: got %s, want %s", row.in, got, want)
		}
	}
	if got := string(redact.Message([]byte(`{"a":"b","token":"c"}`), nil)); got != `{"a":"b","token":"***"}` {
		t.Errorf("got %s", got)
	}
}

func TestAMessageWithoutSecretsIsNotCopied(t *testing.T) {
	message := []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"hello"}]}}`)
	if n := testing.AllocsPerRun(100, func() { redact.Message(message, nil) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// What a quick look passes over must be what the expressions leave as it is.
func FuzzWhatLooksHarmlessIsHarmless(f *testing.F) {
	for _, text := range []string{
		"Bearer abc", "basic%20abc", "eyJhbGciOi", "sk-abcdef", "xoxb-0123456789", "ghx_0123456789", "glpat-0123456789",
		"npm_0123456789", "hf_0123456789", "github_pat_0123456789", "ya29.0123456789", "AIza0123456789", "AKIA0123456789",
		`"my-token" : "x"`, `"passphrase":"x"`, `\"api-key\":\"x`, "private_key=x", "credential=x", "verifier=x",
		"assertion=x", "authorization=x", "apikey=x", "Cookie: a", "set-cookie2:a", "to\u212aen=x", "pa\u017fsw=x",
	} {
		f.Add(text)
		f.Add(strings.ToUpper(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !redact.Suspicious(text) && redact.Shapes(text) != text {
			t.Errorf("%q", text)
		}
	})
}

func BenchmarkMessage(b *testing.B) {
	message := []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` +
		strings.Repeat("hello ", 10) + `"}]}}`)
	known := redact.NewSet("hunter2!").Text
	b.SetBytes(int64(len(message)))
	for b.Loop() {
		redact.Message(message, known)
	}
}
