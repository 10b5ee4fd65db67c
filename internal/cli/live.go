package cli

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"mcpwire/manager"
)

// A live is a table on a terminal that is drawn over and over.
type live struct {
	out   *output
	fd    int
	drawn int // lines of the last drawing
	frame int
}

// newLive returns nil where standard output is no terminal that can draw.
func newLive(out *output) *live {
	fd, ok := terminal(out.w)
	if !ok || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return &live{out: out, fd: fd}
}

// watch draws how servers come, until the first attempt to reach each has ended.
func (l *live) watch(ctx context.Context, m *manager.Manager) (*manager.Snapshot, error) {
	ticker := time.NewTicker(spinEvery)
	defer ticker.Stop()
	s, err := settled(ctx, m, ticker.C, func(s *manager.Snapshot) error {
		width, height, err := term.GetSize(l.fd)
		if err != nil || width <= 0 || height <= 0 {
			width, height = 80, 24
		}
		l.frame++
		return l.draw(liveTable(s, l.frame, width, height, time.Now()), false)
	})
	if err != nil {
		return nil, err
	}
	return s, l.draw(finalTable(s), true)
}

func (l *live) draw(lines []string, wrap bool) error {
	text := redrawn(l.drawn, lines, wrap)
	l.drawn = len(lines)
	return l.out.write(text)
}

// redrawn is what draws lines over the drawn ones of before, above the cursor. Lines that are too long for the terminal
// after all, as some characters are wide, are cut by it unless they are to be wrapped.
func redrawn(drawn int, lines []string, wrap bool) string {
	var b strings.Builder
	if !wrap {
		b.WriteString("\x1b[?7l")
	}
	if drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", drawn)
	}
	b.WriteString("\r\x1b[J")
	for _, line := range lines {
		b.WriteString(line + "\n")
	}
	if !wrap {
		b.WriteString("\x1b[?7h")
	}
	return b.String()
}
