package jsonrpc_test

import (
	"errors"
	"strings"
	"testing"

	"mcpwire/jsonrpc"
)

func TestTheKindFollowsFromTheMembers(t *testing.T) {
	for _, row := range []struct {
		name, text string
		kind       jsonrpc.Kind
		id         string
		err        error
	}{
		{"request", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, jsonrpc.Request, "1", nil},
		{"request with a string id", `{"jsonrpc":"2.0","id":"a\"b","method":"ping"}`, jsonrpc.Request, `"a\"b"`, nil},
		{"request with a null id", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, jsonrpc.Request, "null", nil},
		{"notification", `{"method":"note","jsonrpc":"2.0"}`, jsonrpc.Notification, "none", nil},
		{"result", `{"jsonrpc":"2.0","result":{},"id":7}`, jsonrpc.Response, "7", nil},
		{"null is a result", `{"jsonrpc":"2.0","id":7,"result":null}`, jsonrpc.Response, "7", nil},
		{"error", `{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"m"}}`, jsonrpc.Response, "7", nil},
		{"error without an id", `{"jsonrpc":"2.0","error":{"code":1,"message":"m"}}`, jsonrpc.Response, "none", nil},
		{"a null error is absent", `{"jsonrpc":"2.0","id":7,"result":1,"error":null}`, jsonrpc.Response, "7", nil},
		{"a null error alone", `{"jsonrpc":"2.0","id":7,"error":null}`, jsonrpc.Invalid, "7", jsonrpc.ErrNeither},
		{"neither", `{"jsonrpc":"2.0","id":7}`, jsonrpc.Invalid, "7", jsonrpc.ErrNeither},
		{"both", `{"jsonrpc":"2.0","id":7,"result":1,"error":{}}`, jsonrpc.Invalid, "7", jsonrpc.ErrBoth},
		{"method and result", `{"jsonrpc":"2.0","id":7,"method":"x","result":1}`, jsonrpc.Invalid, "7", jsonrpc.ErrBoth},
		{"no version", `{"method":"GET","path":"/"}`, jsonrpc.Invalid, "none", jsonrpc.ErrVersion},
		{"another version", `{"jsonrpc":"1.0","id":7,"result":1}`, jsonrpc.Invalid, "7", jsonrpc.ErrVersion},
		{"names in another case", `{"jsonrpc":"2.0","ID":7,"Method":"x"}`, jsonrpc.Invalid, "none", jsonrpc.ErrNeither},
		{"escaped names", `{"jsonrpc":"2.0","\u0069d":7,"me\u0074hod":"x"}`, jsonrpc.Request, "7", nil},
		{"unknown members", `{"jsonrpc":"2.0","x":[{"id":1}],"id":7,"result":{}}`, jsonrpc.Response, "7", nil},
		{"white space", " {\t\"jsonrpc\" : \"2.0\" , \"id\" : 7 , \"result\" : { } } ", jsonrpc.Response, "7", nil},
		{"the last of two", `{"jsonrpc":"2.0","id":7,"id":8,"result":{}}`, jsonrpc.Response, "8", nil},
		{
			"the last of two, which alone is right",
			`{"jsonrpc":"2.0","id":{},"id":8,"method":0,"method":"x"}`,
			jsonrpc.Request, "8", nil,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			m, err := jsonrpc.Parse([]byte(row.text))
			if m.Kind != row.kind || m.ID.String() != row.id || !errors.Is(err, row.err) || (err == nil) != (row.err == nil) {
				t.Errorf("got %v with id %s and error %v, want %v with id %s and error %v",
					m.Kind, m.ID, err, row.kind, row.id, row.err)
			}
		})
	}
}

func TestWhatIsNoMessageIsAnError(t *testing.T) {
	deep := strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001)
	for _, text := range []string{
		``, ` `, `42`, `"ready"`, `[1]`, `null`, `{`, `{"jsonrpc":"2.0","id":1,"result":{}`, `{"a":1,}`, `{,}`, `{"a" 1}`,
		`{"jsonrpc":"2.0","id":1,"result":{}} x`, `{"jsonrpc":"2.0","id":1,"result":{}}{}`, `{"a":01}`, `{"a":1.}`,
		`{"a":"` + "\n" + `"}`, `{"a":"\x"}`, `{"a":"\u12g4"}`, `{"a":tru}`, `{"a":[1,]}`, `{"a":[1 2]}`, `{'a':1}`,
		`{"jsonrpc":"2.0","id":1,"result":` + deep + `}`, `[info] {not json`, `{"a":-}`, `{"a":1e}`,
	} {
		m, err := jsonrpc.Parse([]byte(text))
		if err == nil || m.Kind != jsonrpc.Invalid {
			t.Errorf("%.60q was taken for a %v", text, m.Kind)
		}
	}
}

func TestAnIDOfAnotherShapeIsMalformed(t *testing.T) {
	for _, id := range []string{`{}`, `[1]`, `true`, `false`} {
		if m, err := jsonrpc.Parse([]byte(`{"jsonrpc":"2.0","id":` + id + `,"method":"x"}`)); err == nil {
			t.Errorf("the id %s was taken, as %v", id, m.ID)
		}
	}
}

func TestAMethodOfAnotherShapeIsMalformedWhereverItStands(t *testing.T) {
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{},"method":5}`, `{"jsonrpc":"2.0","method":5,"id":1,"result":{}}`,
		`{"jsonrpc":"2.0","method":"x","method":null,"id":1}`,
	} {
		if m, err := jsonrpc.Parse([]byte(text)); err == nil || m.ID != jsonrpc.IntID(1) {
			t.Errorf("%s was taken for a %v with id %v", text, m.Kind, m.ID)
		}
	}
}

func TestPayloadsStayAsTheyWere(t *testing.T) {
	const params = `{ "n": 12345678901234567890.10, "s":"\u00e9\ud83d\ude00" , "broken": "` + "\xff" + `" }`
	m, err := jsonrpc.Parse([]byte(`{"jsonrpc":"2.0","id":9007199254740993,"method":"x","params":` + params + `}`))
	if err != nil || string(m.Params) != params {
		t.Errorf("got params %s and error %v", m.Params, err)
	}
	if got := m.ID.String(); got != "9007199254740993" {
		t.Errorf("got id %s", got)
	}
}

func TestABatchIsSplitIntoItsMessages(t *testing.T) {
	var got []string
	err := jsonrpc.SplitBatch([]byte(` [ {"a":1}, 2 ,[3]] `), func(m []byte) { got = append(got, string(m)) })
	if err != nil || strings.Join(got, "|") != `{"a":1}|2|[3]` {
		t.Errorf("got %q and error %v", got, err)
	}
	if !jsonrpc.IsBatch([]byte(" [")) || jsonrpc.IsBatch([]byte(`{"a":[]}`)) {
		t.Error("a batch is told by its first character")
	}
	for _, text := range []string{`[1`, `[1,]`, `[1]2`, `{}`, ``} {
		if err := jsonrpc.SplitBatch([]byte(text), func([]byte) {}); err == nil {
			t.Errorf("%q was taken for a batch", text)
		}
	}
}
