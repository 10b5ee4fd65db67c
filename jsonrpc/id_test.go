package jsonrpc_test

import (
	"math"
	"testing"

	"mcpwire/jsonrpc"
)

func TestAnIDIsKeptAsItWasSent(t *testing.T) {
	for _, text := range []string{
		`0`, `-0`, `7`, `-7`, `7.0`, `1e3`, `9007199254740993`, `123456789012345678901234567890`, `"7"`, `""`, `"é\n"`, `null`,
	} {
		id, err := jsonrpc.ParseID([]byte(text))
		if got := string(id.Append(nil)); err != nil || got != text {
			t.Errorf("%s became %s (error %v)", text, got, err)
		}
	}
}

func TestIDsOfOneTextAreEqual(t *testing.T) {
	parse := func(text string) jsonrpc.ID {
		id, err := jsonrpc.ParseID([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	switch {
	case parse(`7`) != jsonrpc.IntID(7), parse(`"a"`) != jsonrpc.StringID("a"), parse(`null`) != jsonrpc.NullID:
		t.Error("an id that was parsed differs from the same id that was made")
	case parse(`1000000000000000000`) != jsonrpc.IntID(1e18), parse(`-9223372036854775808`) != jsonrpc.IntID(math.MinInt64),
		parse(`999999999999999999`) != jsonrpc.IntID(999999999999999999):
		t.Error("a big id that was parsed differs from the same id that was made")
	case parse(`7`) == parse(`"7"`), parse(`9007199254740993`) == parse(`9007199254740992`):
		t.Error("different ids are equal")
	}
}

func TestTheIntegerThatAnIDDenotesIsExact(t *testing.T) {
	for _, row := range []struct {
		text string
		want int64
		ok   bool
	}{
		{`7`, 7, true},
		{`"7"`, 7, true},
		{`7.0`, 7, true},
		{`7.000`, 7, true},
		{`70e-1`, 7, true},
		{`0.7e1`, 7, true},
		{`7E+0`, 7, true},
		{`-7.0`, -7, true},
		{`0`, 0, true},
		{`0.0`, 0, true},
		{`"-7"`, -7, true},
		{`7e2`, 700, true},
		{`9007199254740993`, 9007199254740993, true},
		{`9007199254740993.0`, 9007199254740993, true},
		{`9223372036854775807`, 9223372036854775807, true},
		{`9223372036854775808`, 0, false},
		{`"07"`, 0, false},
		{`7.5`, 0, false},
		{`"7.0"`, 0, false},
		{`" 7"`, 0, false},
		{`"x"`, 0, false},
		{`""`, 0, false},
		{`null`, 0, false},
		{`1e400`, 0, false},
		{`1e-400`, 0, false},
		{`1e99999999999999999999`, 0, false},
	} {
		id, err := jsonrpc.ParseID([]byte(row.text))
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := id.Integer(); ok != row.ok || got != row.want {
			t.Errorf("%s denotes %d (%v), want %d (%v)", row.text, got, ok, row.want, row.ok)
		}
	}
}

func TestAnAbsentIDIsNotNull(t *testing.T) {
	var absent jsonrpc.ID
	if !absent.IsAbsent() || absent.IsNull() || jsonrpc.NullID.IsAbsent() || jsonrpc.IntID(0).IsAbsent() {
		t.Error("absent, null and 0 are three different ids")
	}
}
