package cli_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// An answerer is somebody at the terminal of a command who is asked.
type answerer struct {
	*screen
	seen int // of what was shown
}

// atAsking starts a command at a terminal of its own, in a folder with servers: "old" and "new" are the demo server in
// either era, "asking" does as the steps say.
func atAsking(t *testing.T, steps string, args ...string) (*answerer, string) {
	t.Helper()
	program, err := exec.LookPath("mcpwire")
	if err != nil {
		t.Fatal(err)
	}
	cmd, folder := command(t, append(args, "--config", "servers.json")...)
	cmd.Path, cmd.Args[0] = program, program
	cmd.Env = slices.DeleteFunc(cmd.Env, func(v string) bool { return strings.HasPrefix(v, runVariable+"=") })
	cmd.Env = append(cmd.Env, "BROWSER=browser")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	write(t, filepath.Join(folder, "steps.txt"), steps)
	write(t, filepath.Join(folder, "servers.json"), `{"mcpServers": {
		"old": {"command": "mcpwire", "args": ["demo-server"], "protocol": "session"},
		"new": {"command": "mcpwire", "args": ["demo-server"], "protocol": "stateless"},
		"asking": {"command": "askingserver", "args": ["steps.txt"], "cwd": "."}
	}}`)
	return &answerer{screen: onScreen(t, cmd)}, folder
}

// sees waits for a text behind those that were seen before, and returns what stands before it.
func (a *answerer) sees(text string) string {
	a.t.Helper()
	over := time.After(30 * time.Second)
	for {
		a.mu.Lock()
		shown, ended, grown := a.text[a.seen:], a.ended, a.grown
		a.mu.Unlock()
		if before, _, ok := strings.Cut(shown, text); ok {
			a.seen += len(before) + len(text)
			return before
		}
		if ended {
			a.t.Fatalf("no %q in %q", text, shown)
		}
		select {
		case <-grown:
		case <-over:
			a.t.Fatalf("no %q in time; there is %q", text, shown)
		}
	}
}

// types types keys behind a prompt.
func (a *answerer) types(prompt, keys string) {
	a.t.Helper()
	a.sees(prompt)
	if _, err := io.WriteString(a.master, keys); err != nil {
		a.t.Fatal(err)
	}
}

func (a *answerer) exits(code int, with string) string {
	a.t.Helper()
	got, shown := a.ends()
	if got != code || !strings.Contains(shown[a.seen:], with) {
		a.t.Errorf("exit code %d, want %d and %q: %q", got, code, with, shown)
	}
	return shown
}

func TestSomebodyAtATerminalFillsInAForm(t *testing.T) {
	for _, server := range []string{"old", "new"} {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			a, _ := atAsking(t, "", "call", server, "book")
			a.sees(server + "\x1b[m asks you:\n  Which table shall it be?\n")
			a.sees("\nName (text, from 2 to 40 characters; required)\n  for whom the table is\n")
			a.types("  > ", "\n")
			a.sees("  it is required\n")
			a.types("  > ", "A\n")
			a.sees("  at least 2 characters are wanted\n")
			a.types("  > ", "Ada\n")
			a.sees("\nGuests (an integer, from 1 to 12; required)\n")
			for text, why := range map[string]string{
				"lots": "an integer, from 1 to 12 is wanted", "2.5": "an integer, from 1 to 12 is wanted", "13": "at most 12 is wanted",
			} {
				a.types("  [2] > ", text+"\n")
				a.sees("  " + why + "\n")
			}
			a.types("  [2] > ", "4\n")
			a.sees("\nDay (a date such as 2026-07-28; required)\n")
			a.types("  > ", "tomorrow\n")
			a.sees("  a date such as 2026-07-28 is wanted\n")
			a.types("  > ", "2026-08-01\n")
			a.sees("\nSeat (one of these, by its number or its text; optional)\n  1) Inside\n  2) Terrace\n")
			a.types("  [Inside] > ", "3\n")
			a.sees("  \"3\" is none of the choices\n")
			a.types("  [Inside] > ", "terrace\n")
			a.sees("\nExtras (any of these, with commas between, at most 2 of them; optional)\n  1) candles\n")
			a.types("  > ", "1,2, high chair\n")
			a.sees("  at most 2 of the choices are wanted\n")
			a.types("  > ", "high chair, 1\n")
			a.sees("\nReminder (yes or no; optional)\n  whether to call an hour before\n")
			a.types("  [no] > ", "maybe\n")
			a.sees("  yes or no is wanted\n")
			a.types("  [no] > ", "y\n")
			a.sees(server + " gets:\n  1) Name: Ada\n  2) Guests: 4\n  3) Day: 2026-08-01\n  4) Seat: Terrace\n" +
				"  5) Extras: high chair, candles\n  6) Reminder: yes\n")
			a.types("Send it? ", "\n")
			a.types("Send it? ", "2\n")
			a.types("  [4] > ", "5\n")
			a.sees("  2) Guests: 5\n")
			a.types("Send it? ", "y\n")
			a.exits(0, `Booked: {"day":"2026-08-01","extras":["high chair","candles"],"guests":5,"name":"Ada","reminder":true,"seat":"out"}`)
		})
	}
}

func TestEnterTakesDefaultsAndLeavesOutWhatIsOptional(t *testing.T) {
	t.Parallel()
	a, _ := atAsking(t, "", "call", "new", "book")
	a.types("\nName", "!back\n")
	a.types("\nName", "Bob\n")
	a.types("\nGuests", "!back\n")
	a.types("  [Bob] > ", "\n")
	a.types("\nGuests", "\n")
	a.types("\nDay", "2026-08-01\n")
	a.types("\nSeat", "\n")
	a.types("\nExtras", "\n")
	a.types("\nReminder", "\n")
	a.sees("  5) Extras: (left out)\n")
	a.types("Send it? ", "yes\n")
	a.exits(0, `Booked: {"day":"2026-08-01","guests":2,"name":"Bob","reminder":false,"seat":"in"}`)
}

func TestSomebodyMaySayNoOrLeaveWithoutAnAnswer(t *testing.T) {
	for _, server := range []string{"old", "new"} {
		for keys, action := range map[string]string{
			"!decline\n": "decline", "!cancel \n": "cancel", "\x04": "cancel",
		} {
			t.Run(server+" "+action, func(t *testing.T) {
				t.Parallel()
				a, _ := atAsking(t, "", "call", server, "book")
				a.types("  > ", keys)
				a.exits(0, "No table is booked: the answer was "+action+".")
			})
		}
	}
}

func TestCtrlCEndsTheCallInTheMiddleOfAForm(t *testing.T) {
	t.Parallel()
	a, _ := atAsking(t, `{"id":"q","method":"elicitation/create","params":{"message":"M","requestedSchema":`+
		`{"type":"object","properties":{"x":{"type":"string"},"y":{"type":"string"}}}}}`+"\nanswer\nanswer\n",
		"call", "-v", "asking", "ask")
	a.types("\nx", "1\n")
	a.types("\ny", "half a li\x03")
	a.sees("[asking] the call is cancelled\n")
	a.exits(130, "mcpwire: interrupted\n")

	a, _ = atAsking(t, "", "call", "new", "book")
	a.types("  > ", "\x03")
	a.exits(130, "mcpwire: interrupted\n")
}

const oneField = `"requestedSchema":{"type":"object","properties":{"x":{"type":"string","default":"d"}}}`

func TestAQuestionThatIsNotWantedAnyMoreEndsAtOnceAndTheNextOneIsAsked(t *testing.T) {
	t.Parallel()
	a, folder := atAsking(t, `{"id":1,"method":"elicitation/create","params":{"message":"first",`+oneField+`}}
file go
{"method":"notifications/cancelled","params":{"requestId":1}}
{"id":2,"method":"elicitation/create","params":{"message":"second",`+oneField+`}}
answer
`, "call", "asking", "ask")
	a.sees("  first\n")
	a.types("  [d] > ", "typed for the first")
	a.sees("typed for the first")
	write(t, filepath.Join(folder, "go"), "")
	a.sees("  second\n")
	a.types("  [d] > ", "\n")
	a.sees("  1) x: d\n")
	a.types("Send it? ", "y\n")
	a.exits(0, `{"action":"accept","content":{"x":"d"}}`)
}

func TestQuestionsAreAskedOneAfterAnother(t *testing.T) {
	t.Parallel()
	var steps strings.Builder
	for i := range 3 {
		fmt.Fprintf(&steps, `{"id":%d,"method":"elicitation/create","params":{"message":"number %d"}}`+"\n", i, i)
	}
	a, _ := atAsking(t, steps.String()+"answer\nanswer\nanswer\n", "call", "asking", "ask")
	for range 3 {
		a.sees("  number ")
		a.sees("  your yes, and nothing else\n")
		a.types("Send it? ", "y\n")
	}
	a.exits(0, "{\"action\":\"accept\",\"content\":{}}\n{\"action\":\"accept\",\"content\":{}}\n")
}

func TestWhatIsToldDuringAQuestionStandsAboveThePrompt(t *testing.T) {
	t.Parallel()
	a, folder := atAsking(t, `{"id":1,"method":"elicitation/create","params":{"message":"m",`+oneField+`}}
file go
not a message
answer
`, "call", "-v", "asking", "ask")
	a.sees("  [d] > ")
	write(t, filepath.Join(folder, "go"), "")
	a.sees("\n[asking] dropped, no message: ")
	a.types("  [d] > ", "e\n")
	a.types("Send it? ", "y\n")
	a.exits(0, `{"action":"accept","content":{"x":"e"}}`)
}

func TestWhatAServerAsksIsShownWithoutControlSequences(t *testing.T) {
	t.Parallel()
	evil := `\u001b[2J\u009b31m\u202eevil\r\nnext`
	a, _ := atAsking(t, strings.ReplaceAll(`{"id":1,"method":"elicitation/create","params":{"message":"EVIL","requestedSchema":`+
		`{"type":"object","properties":{"EVIL":{"type":"string","title":"EVIL","description":"EVIL","default":"EVIL",`+
		`"enum":["EVIL"],"enumNames":["EVIL"]}}}}}`+"\nanswer\n", "EVIL", evil), "call", "asking", "ask")
	a.types("] > ", "\n")
	a.types("Send it? ", "n\n")
	shown := strings.NewReplacer("\x1b[1m", "", "\x1b[m", "", "\r\x1b[K", "").Replace(a.exits(0, `{"action":"decline"}`))
	if strings.ContainsAny(shown, "\x1b\u009b\u202e\r") || strings.Contains(shown, "\nnext") {
		t.Errorf("it shows %q", shown)
	}
}

func TestAFormOfAnyKindOfFieldCanBeFilledIn(t *testing.T) {
	t.Parallel()
	a, _ := atAsking(t, `{"id":1,"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object",`+
		`"required":["mail","none","list"],"properties":{"mail":{"type":"string","format":"email"},"site":{"type":"string",`+
		`"format":"uri"},"at":{"type":"string","format":"date-time"},"code":{"type":"string","pattern":"^[A-Z]+$"},`+
		`"share":{"type":"number","minimum":0.5,"maximum":1e3},"none":{"type":"string"},"list":{"type":"array","items":`+
		`{"anyOf":[{"const":"#f00","title":"Red"},{"const":"#0f0","title":"Green"}]}},"odd":{"type":"object"}}}}}`+"\nanswer\n",
		"call", "asking", "ask")
	for _, row := range []struct{ heading, wrong, why, right string }{
		{"mail (an email address;", "me at home", "an email address is wanted", "me@example.com"},
		{"site (a URI such as https://example.com/;", "example", "a URI such as https://example.com/ is wanted", "x:y"},
		{"at (a date and time such as 2026-07-28T15:04:05Z;", "noon", "a date and time such as", "2026-07-28T12:00:00+02:00"},
		{"code (text;", "abc", `what matches "^[A-Z]+$" is wanted`, "ABC"},
		{"share (a number, from 0.5 to 1000;", "0.4", "at least 0.5 is wanted", "0.50"},
		{"none (text;", "", `it is required; "" is an empty text`, `""`},
		{"list (any of these, with commas between;", "", `it is required; "" is none of them`, `green`},
		{"odd (JSON;", "{", "JSON is wanted", `{"a":[1]}`},
	} {
		a.sees("\n" + row.heading)
		a.types("  > ", row.wrong+"\n")
		a.sees("  " + row.why)
		a.types("  > ", row.right+"\n")
	}
	a.types("Send it? ", "y\n")
	a.exits(0, `"content":{"mail":"me@example.com","site":"x:y","at":"2026-07-28T12:00:00+02:00","code":"ABC","share":0.50,`+
		`"none":"","list":["#0f0"],"odd":{"a":[1]}}`)
}

func TestAnAddressIsOpenedAfterAYesAlone(t *testing.T) {
	var fetched atomic.Int64
	web := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { fetched.Add(1) }))
	defer web.Close()
	steps := `{"id":1,"method":"elicitation/create","params":{"mode":"url","message":"Connect.","elicitationId":"e1",` +
		`"url":"` + web.URL + `/connect?a=b"}}` + "\nfile go\n" +
		`{"method":"notifications/elicitation/complete","params":{"elicitationId":"e0"}}` + "\n" +
		`{"method":"notifications/elicitation/complete","params":{"elicitationId":"e1"}}` + "\nanswer\n"
	host := strings.TrimPrefix(web.URL, "http://")
	for _, row := range []struct {
		flags  []string
		keys   string
		opened int64
		action string
	}{{nil, "n\n", 0, "decline"}, {nil, "\x04", 0, "cancel"}, {[]string{"--no-browser"}, "y\n", 0, "accept"}, {nil, "y\n", 1, "accept"}} {
		fetched.Store(0)
		a, folder := atAsking(t, steps, append([]string{"call", "asking", "ask"}, row.flags...)...)
		a.sees("asking\x1b[m asks you to visit an address:\n  Connect.\n\n  http://\x1b[1m" + host + "\x1b[m/connect?a=b\n" +
			"  host: \x1b[1m127.0.0.1\x1b[m\n  warning: it is not one of https\n")
		a.types("[y: yes, n: decline, c: cancel] ", row.keys)
		if row.action == "accept" {
			a.sees("Press Enter when you are done there")
		}
		write(t, filepath.Join(folder, "go"), "")
		a.exits(0, `{"action":"`+row.action+`"}`)
		if n := fetched.Load(); n != row.opened {
			t.Errorf("%q %q: the address was fetched %d times", row.flags, row.keys, n)
		}
	}
	a, _ := atAsking(t, "", "call", "new", "visit", "--no-browser")
	a.types("Will you open it?", "y\n")
	a.types("Press Enter", "\n")
	a.exits(0, "Thank you for the visit.")
}

func TestSomebodyAnswersInPlaceOfAModel(t *testing.T) {
	for _, server := range []string{"old", "new"} {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			a, _ := atAsking(t, "", "call", server, "ask_model", "question=Why?\x1b[2J")
			a.sees(" asks for a model's answer, and you may write it:\nsystem prompt:\n  Answer in one sentence.\nuser:\n  Why?\\x1b[2J\n")
			a.types("> ", "Because\n")
			a.types("> ", "..\n")
			a.types("> ", ".\n")
			a.exits(0, "a person at mcpwire says: Because\n..\n")

			a, _ = atAsking(t, "", "call", server, "ask_model", "question=Why?")
			a.types("> ", "\x04")
			a.exits(1, "User rejected sampling request")
		})
	}
}
