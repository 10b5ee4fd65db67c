package mcp_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"mcpwire/mcp"
)

func TestUnknownContentSurvivesDecodingAndEncoding(t *testing.T) {
	for _, text := range []string{
		`{"type":"chart","points":[1,2.50,12345678901234567890],"style":{"color":"red"}}`,
		`{"type":"chart","text":"","data":{"x":1},"name":["a"],"size":"big","isError":false,"content":7}`,
		`{"data":[1],"type":"chart"}`,
		`{"type":"chart"}`,
		`{"type":"","text":"a"}`,
		`{"type":"text","text":"a","later":{"a":1e3},"also":null}`,
		`{"type":"tool_result","toolUseId":"1","content":[{"type":"chart","text":[1]},{"type":"text","text":""}]}`,
		`{"type":"tool_result","toolUseId":"1","content":[{"type":"tool_result","toolUseId":"2","content":[]}]}`,
	} {
		var want, got any
		_ = mcp.Decode([]byte(text), &want)
		content := decode[mcp.Content](t, text)
		_ = mcp.Decode([]byte(encode(t, content)), &got)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got  %s\nwant %s", encode(t, content), text)
		}
	}
	c := decode[mcp.Content](t, `{"size":"big","type":"chart","text":"a"}`)
	if c.Type != "chart" || c.Text != "" || string(c.Extra) != `{"size":"big","text":"a"}` {
		t.Errorf("decoded %+v, extra %s", c, c.Extra)
	}
}

func TestKnownContentWithAMemberOfAWrongTypeIsAnError(t *testing.T) {
	for _, text := range []string{
		`{"text":5,"type":"text"}`,
		`{"type":"image","data":{}}`,
		`{"type":5}`,
		`["text"]`,
		`{"type":"tool_result","toolUseId":"1","content":[{"type":"text","text":1}]}`,
		`{"type":"tool_result","toolUseId":"1","content":{}}`,
	} {
		var c mcp.Content
		if err := mcp.Decode([]byte(text), &c); err == nil {
			t.Errorf("%s: decoded %+v", text, c)
		}
	}
}

func TestAToolResultWithinAToolResultStaysRawHoweverDeepItGoes(t *testing.T) {
	const depth = 4_000
	level := `{"type":"tool_result","toolUseId":"","content":[`
	text := strings.Repeat(level, depth) + `{"type":"text","text":"` + strings.Repeat("a", 1<<20) + `"}` +
		strings.Repeat(`]}`, depth)
	c := decode[mcp.Content](t, text)
	if len(c.Content) != 1 || c.Content[0].Content != nil || len(c.Content[0].Extra) < 1<<20 {
		t.Errorf("decoded %d blocks", len(c.Content))
	}
	if got := encode(t, c); got != text {
		t.Errorf("encoded %d bytes, want %d", len(got), len(text))
	}
}

func TestBytesDecodesWhatServersCallBase64(t *testing.T) {
	for data, want := range map[string]string{
		"": "", "/+8=": "\xff\xef", "/+8": "\xff\xef", "_-8": "\xff\xef", "_-8=": "\xff\xef", "aGk\n=": "hi",
	} {
		if got, err := (&mcp.Content{Data: data}).Bytes(); err != nil || string(got) != want {
			t.Errorf("%q: %q, %v", data, got, err)
		}
	}
	if got, err := (&mcp.Content{Data: "no base64"}).Bytes(); err == nil {
		t.Errorf("decoded %q", got)
	}
}

func TestTheBytesOfAResourceAreItsBlobOrItsText(t *testing.T) {
	for text, want := range map[string]string{
		`{"uri":"u","text":"a"}`: "a", `{"uri":"u","text":""}`: "", `{"uri":"u","blob":"aGk="}`: "hi", `{"uri":"u"}`: "",
	} {
		r := decode[mcp.ResourceContents](t, text)
		if got, err := r.Bytes(); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", text, got, err)
		}
		sameJSON(t, encode(t, r), text)
	}
}

func TestRevisions(t *testing.T) {
	want := "[2026-07-28 2025-11-25 2025-06-18 2025-03-26 2024-11-05]"
	if got := fmt.Sprint(mcp.Revisions()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, rev := range append(mcp.Revisions(), "", "2024-10-07", "2027-01-01") {
		session, stateless := mcp.IsSession(rev), mcp.IsStateless(rev)
		if want := strings.Contains(fmt.Sprint(mcp.SessionRevisions()), rev) && rev != ""; session != want {
			t.Errorf("%q: session %v", rev, session)
		}
		if stateless != (rev == mcp.Rev20260728) {
			t.Errorf("%q: stateless %v", rev, stateless)
		}
	}
}
