package stdio_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func init() { roles["size of its pipe"] = tellPipe }

// tellPipe answers with what the pipe of its output holds, and with much besides if the request has "big" in it.
func tellPipe(in *bufio.Reader) {
	for line := readLine(in); line != nil; line = readLine(in) {
		var id int
		if _, err := fmt.Sscanf(string(line), `{"id":%d`, &id); err != nil {
			panic(err)
		}
		size, err := unix.FcntlInt(os.Stdout.Fd(), unix.F_GETPIPE_SZ, 0)
		if err != nil {
			panic(err)
		}
		pad := ""
		if bytes.Contains(line, []byte("big")) {
			pad = strings.Repeat("x", 300<<10)
		}
		fmt.Fprintf(os.Stdout, "{\"id\":%d,\"size\":%d,\"pad\":%q}\n", id, size, pad)
	}
}

func TestAServerThatSendsSomethingBigGetsALargerPipe(t *testing.T) {
	s := open(t, "size of its pipe")
	for id, tt := range []struct {
		rest string
		size int
	}{{"", 64 << 10}, {`,"x":"big"`, 64 << 10}, {"", 256 << 10}, {"", 256 << 10}} {
		if err := s.Exchange(context.Background(), s.request(id+1, tt.rest)); err != nil {
			t.Fatal(err)
		}
		if got := s.answer(id + 1); !bytes.Contains(got, fmt.Appendf(nil, `"size":%d,`, tt.size)) {
			t.Errorf("request %d: got %.60q, want %d", id+1, got, tt.size)
		}
	}
}
