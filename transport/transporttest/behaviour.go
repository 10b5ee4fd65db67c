package transporttest

import (
	"fmt"
	"strconv"
	"strings"
)

// A Behaviour is what a fake server does. In all of them the server understands these requests:
//
//   - "echo" is answered with its params, in the way that the behaviour says;
//   - "silent" is never answered;
//   - "seen" is answered with {"silent":N,"notes":[...]}: how many silent requests have come, and the notifications
//     that have come, whole and in order;
//   - "exit" ends the server in the way that the behaviour says.
type Behaviour struct {
	Name string
	N    int // the number that some of them take
}

// The behaviours. Those from Floods on need a server that is a process.
const (
	Answers       = "answers"       // nothing else
	Reverses      = "reverses"      // answers echo N at a time, the last first
	Late          = "late"          // answers every silent request when a notification comes
	Notifies      = "notifies"      // sends N notifications before the answer
	Large         = "large"         // sends the notifications of LargeMessages before the answer
	Oversized     = "oversized"     // sends a message of N bytes before the answer
	Noise         = "noise"         // sends what is no message before the answer
	Windows       = "windows"       // begins with a byte order mark and ends lines with CR LF
	Trickles      = "trickles"      // writes the answer in single bytes
	Naps          = "naps"          // says so at an echo, reads nothing for three seconds, and answers
	Deaf          = "deaf"          // says so at the first echo, reads nothing more, and answers a second later
	ClosesOutput  = "closes-output" // closes its output at exit, and goes on
	ExitsBefore   = "exits-before"  // says why and exits with the status N before it reads anything
	ExitsDuring   = "exits-during"  // at exit says why, writes half an answer and exits with the status N
	ExitsAfter    = "exits-after"   // at exit sends 4 MiB, answers, says why and exits with the status N
	ExitsUnended  = "exits-unended" // at exit sends 4 MiB, answers without the LF, and exits with the status N
	Floods        = "floods"        // writes N bytes without a line feed to its standard error before the answer
	Stubborn      = "stubborn"      // goes on when its input is closed, and ignores SIGTERM
	Grandchild    = "grandchild"    // has a child that holds its output open, tells its id, and at exit exits
	lastWords     = "cannot go on: the disk is on fire"
	deafness      = "notifications/deaf"
	offspring     = "notifications/offspring"
	numbered      = "notifications/numbered"
	oversizedHead = `{"jsonrpc":"2.0","method":"notifications/oversized","params":{"data":"`
	oversizedTail = `"}}`
)

// String returns the behaviour in a form for arguments and environment variables.
func (b Behaviour) String() string { return b.Name + ":" + strconv.Itoa(b.N) }

// ParseBehaviour reads what String returned.
func ParseBehaviour(text string) (Behaviour, error) {
	name, number, _ := strings.Cut(text, ":")
	n, err := strconv.Atoi(number)
	if err != nil {
		return Behaviour{}, fmt.Errorf("behaviour %q: %w", text, err)
	}
	return Behaviour{Name: name, N: n}, nil
}

// LargeMessages returns the notifications that Large sends: of 64 KiB, 1 MiB and 16 MiB.
func LargeMessages() (messages [][]byte) {
	for _, size := range []int{64 << 10, 1 << 20, 16 << 20} {
		messages = append(messages, filled(`{"jsonrpc":"2.0","method":"notifications/large","params":{"data":"`, `"}}`, size))
	}
	return messages
}

// OversizedMessage returns the message of size bytes that Oversized sends.
func OversizedMessage(size int) []byte { return filled(oversizedHead, oversizedTail, size) }

// GrandchildMessage returns the notification by which Grandchild tells its child's id.
func GrandchildMessage(pid int) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q,"params":{"pid":%d}}`, offspring, pid)
}

// filled returns a text of size bytes between head and tail. The filling repeats after a length that is no size of a
// buffer, so that a buffer that is lost or doubled shows.
func filled(head, tail string, size int) []byte {
	text := append(make([]byte, 0, size), head...)
	for room := size - len(head) - len(tail); room > 0; room -= len(filling) {
		text = append(text, filling[:min(room, len(filling))]...)
	}
	return append(text, tail...)
}

var filling = func() []byte {
	letters, state := make([]byte, 4099), uint32(1)
	for i := range letters {
		state = state*1664525 + 1013904223
		letters[i] = 'a' + byte(state>>24)%26
	}
	return letters
}()

// noise is what servers print by mistake between their messages.
var noise = []string{
	"Server listening on port 3000",
	"",
	"   \t ",
	"42",
	"null",
	`"quoted"`,
	"[1, 2, 3]",
	"[]",
	"{}",
	`{"level":"info","msg":"started"}`,
	`{"jsonrpc":"2.0","id":1,"result":{"half":`,
	`{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"both"}}`,
	`{"jsonrpc":"1.0","id":1,"result":{}}`,
	"\x1b[32minfo\x1b[0m ready",
	"\xff\xfe{\x00",
	"}{",
}
