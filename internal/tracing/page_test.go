package tracing_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"testing"

	"mcpwire/internal/tracing"
)

func TestAPageHoldsNoMarkupOfAServer(t *testing.T) {
	b, items := read(
		t, `{'event':'opened','server':'</script><b>','carrier':'<!--'}`,
		sent(`'id':1,'method':'</script><script>x()','params':{'name':'a\u2028b'}`),
		received(`'id':1,'result':{'a':']]>&lt;'}`),
	)
	var page bytes.Buffer
	if err := tracing.WritePage(&page, "</title><b>", b, items); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	for word, times := range map[string]int{
		"</script>": 2, "<script": 2, "</title>": 1, "<!--": 0, "<b>": 0, "\u2028": 0, "]]>": 0,
	} {
		if n := strings.Count(text, word); n != times {
			t.Errorf("%q stands %d times in the page, not %d", word, n, times)
		}
	}
	// The policy names the script that is there.
	_, rest, _ := strings.Cut(text, "</script>\n<script>")
	script, _, _ := strings.Cut(rest, "</script>")
	sum := sha256.Sum256([]byte(script))
	if hash := base64.StdEncoding.EncodeToString(sum[:]); !strings.Contains(text, "script-src 'sha256-"+hash+"'") {
		t.Errorf("the policy does not name the script, whose hash is %s", hash)
	}
}
