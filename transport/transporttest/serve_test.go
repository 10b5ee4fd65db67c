package transporttest_test

import (
	"bytes"
	"strings"
	"testing"

	"mcpwire/transport/transporttest"
)

func TestBehavioursSurviveTheirText(t *testing.T) {
	for _, b := range []transporttest.Behaviour{{}, {Name: transporttest.ExitsAfter, N: 3}, {Name: "x-y", N: -1}} {
		if got, err := transporttest.ParseBehaviour(b.String()); err != nil || got != b {
			t.Errorf("%q became %+v, %v", b, got, err)
		}
	}
	for _, text := range []string{"", "answers", "answers:", "answers:many"} {
		if b, err := transporttest.ParseBehaviour(text); err == nil {
			t.Errorf("%q was read as %+v", text, b)
		}
	}
}

func TestServeShowsTheBehaviour(t *testing.T) {
	const (
		echo1 = `{"jsonrpc":"2.0","id":1,"method":"echo","params":{"a":1}}` + "\n"
		echo2 = `{"jsonrpc":"2.0","id":"two","method":"echo","params":{"a":2}}` + "\n"
		mute  = `{"jsonrpc":"2.0","id":3,"method":"silent"}` + "\n"
		note  = `{"jsonrpc":"2.0","method":"note"}` + "\n"
		look  = `{"jsonrpc":"2.0","id":4,"method":"seen"}` + "\n"
		exit  = `{"jsonrpc":"2.0","id":5,"method":"exit"}` + "\n"

		answer1 = `{"jsonrpc":"2.0","id":1,"result":{"a":1}}`
		answer2 = `{"jsonrpc":"2.0","id":"two","result":{"a":2}}`
		answer5 = `{"jsonrpc":"2.0","id":5,"result":{}}`
		tell    = `{"jsonrpc":"2.0","method":"notifications/numbered","params":{"n":`
		last    = "cannot go on: the disk is on fire\n"
	)
	big := string(transporttest.OversizedMessage(4<<20)) + "\n"
	tests := map[string]struct {
		behaviour transporttest.Behaviour
		in        string
		out, errw string
		status    int
	}{
		"answers":       {with(transporttest.Answers, 0), echo1 + echo2, answer1 + "\n" + answer2 + "\n", "", 0},
		"unended input": {with(transporttest.Answers, 0), strings.TrimSpace(echo1), answer1 + "\n", "", 0},
		"seen": {
			with(transporttest.Answers, 0), mute + note + look,
			`{"jsonrpc":"2.0","id":4,"result":{"silent":1,"notes":[{"jsonrpc":"2.0","method":"note"}]}}` + "\n", "", 0,
		},
		"reverses": {with(transporttest.Reverses, 2), echo1 + echo2, answer2 + "\n" + answer1 + "\n", "", 0},
		"late": {
			with(transporttest.Late, 0), mute + note + note,
			`{"jsonrpc":"2.0","id":3,"result":{}}` + "\n", "", 0,
		},
		"notifies": {
			with(transporttest.Notifies, 2), echo1,
			tell + "0}}\n" + tell + "1}}\n" + answer1 + "\n", "", 0,
		},
		"windows":       {with(transporttest.Windows, 0), echo1, "\ufeff" + answer1 + "\r\n", "", 0},
		"trickles":      {with(transporttest.Trickles, 0), echo1, answer1 + "\n", "", 0},
		"floods":        {with(transporttest.Floods, 9), echo1, answer1 + "\n", "EEEEEEEEE", 0},
		"exits before":  {with(transporttest.ExitsBefore, 3), echo1, "", last, 3},
		"exits during":  {with(transporttest.ExitsDuring, 3), exit + echo1, answer5[:18], last, 3},
		"exits after":   {with(transporttest.ExitsAfter, 3), exit + echo1, big + answer5 + "\n", last, 3},
		"exits unended": {with(transporttest.ExitsUnended, 3), exit + echo1, big + answer5, last, 3},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var out, errw bytes.Buffer
			status := transporttest.Serve(test.behaviour, strings.NewReader(test.in), &out, &errw)
			if out.String() != test.out || errw.String() != test.errw || status != test.status {
				t.Errorf("got %.500q, %q, %d, want %.500q, %q, %d",
					out.String(), errw.String(), status, test.out, test.errw, test.status)
			}
		})
	}
}

func TestLargeMessagesHaveTheirSizes(t *testing.T) {
	want := []int{64 << 10, 1 << 20, 16 << 20}
	for i, text := range transporttest.LargeMessages() {
		if len(text) != want[i] {
			t.Errorf("message %d has %d bytes, want %d", i, len(text), want[i])
		}
	}
	if n := len(transporttest.OversizedMessage(1000)); n != 1000 {
		t.Errorf("the message has %d bytes, want 1000", n)
	}
}

func with(name string, n int) transporttest.Behaviour {
	return transporttest.Behaviour{Name: name, N: n}
}
