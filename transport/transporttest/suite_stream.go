package transporttest

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpwire/transport"
)

const mebibyte = 1 << 20

var streamRows = []row{
	{
		name:      "notifications arrive in order and before the answer that follows them",
		need:      talkative,
		behaviour: Behaviour{Name: Notifies, N: 200},
		run: func(s *scene) {
			for round := 1; round <= 2; round++ {
				if after := s.echo(`{}`).After; after != round*200 {
					s.Errorf("%d notifications had come before the answer, want %d", after, round*200)
				}
			}
			for i, m := range s.recorder.Messages() {
				if want := fmt.Sprintf(`{"n":%d}`, i%200); string(m.Params) != want {
					s.Fatalf("notification %d: got %s, want %s", i, m.Params, want)
				}
			}
		},
	},
	{
		name:      "messages of 64 KiB, 1 MiB and 16 MiB arrive byte for byte",
		need:      talkative,
		behaviour: Behaviour{Name: Large},
		run: func(s *scene) {
			want := LargeMessages()
			if after := s.echo(`{}`).After; after != len(want) {
				s.Errorf("%d messages had come before the answer, want %d", after, len(want))
			}
			for i, m := range s.recorder.Messages() {
				if !bytes.Equal(m.Text, want[i]) {
					s.Errorf("message %d, of %d bytes, is not what was sent", i, len(want[i]))
				}
			}
		},
	},
	{name: "requests of 64 KiB, 1 MiB and 16 MiB arrive byte for byte", run: func(s *scene) {
		for _, size := range []int{64 << 10, mebibyte, 16 * mebibyte} {
			s.echo(string(filled(`{"data":"`, `"}`, size)))
		}
	}},
	{
		name:      "noise between messages is dropped and the stream goes on",
		need:      shared,
		behaviour: Behaviour{Name: Noise},
		run: func(s *scene) {
			s.echo(`{"round":1}`)
			s.echo(`{"round":2}`)
			s.echoAll(8, 2)
			for _, m := range s.recorder.Messages() {
				s.Errorf("noise was taken for a message: %s", m.Text)
			}
			if s.recorder.Late() > 0 {
				s.Error("noise was taken for an answer")
			}
			objects := 0
			for _, text := range s.recorder.Malformed() {
				if strings.HasPrefix(string(text), "{") {
					objects++
				}
			}
			if objects == 0 {
				s.Error("the receiver was not asked about objects that are no messages")
			}
		},
	},
	{
		name:       "a message above the cap is skipped and reported, and the line lives",
		need:       shared,
		behaviour:  Behaviour{Name: Oversized, N: 11 * mebibyte},
		maxMessage: mebibyte,
		run: func(s *scene) {
			s.echo(`{"round":1}`)
			s.echo(`{"round":2}`)
			if n := len(s.recorder.Messages()); n > 0 {
				s.Errorf("%d messages above the cap came through", n)
			}
			reports := s.recorder.Oversizes()
			if len(reports) != 2 {
				s.Fatalf("%d reports of messages above the cap, want 2", len(reports))
			}
			for _, report := range reports {
				s.wantReport(report, OversizedMessage(11*mebibyte))
			}
		},
	},
	{
		name:       "a message of exactly the cap comes through",
		need:       shared,
		behaviour:  Behaviour{Name: Oversized, N: mebibyte},
		maxMessage: mebibyte,
		run: func(s *scene) {
			s.echo(`{}`)
			messages := s.recorder.Messages()
			if len(messages) != 1 || !bytes.Equal(messages[0].Text, OversizedMessage(mebibyte)) {
				s.Errorf("%d messages and %d reports, want the message", len(messages), len(s.recorder.Oversizes()))
			}
		},
	},
	{
		name:      "a flood on the standard error before the answer does no harm",
		need:      process,
		behaviour: Behaviour{Name: Floods, N: 256 << 10},
		run: func(s *scene) {
			for round := range 3 {
				s.echo(fmt.Sprintf(`{"round":%d}`, round))
			}
		},
	},
	{
		name:      "a byte order mark and lines that end with CR LF are read",
		need:      lines,
		behaviour: Behaviour{Name: Windows},
		run: func(s *scene) {
			s.echo(`{"round":1}`)
			s.echo(`{"round":2}`)
			if n := len(s.recorder.Malformed()); n > 0 {
				s.Errorf("%d messages were taken for noise", n)
			}
		},
	},
	{
		name:      "characters that come in single bytes are read",
		need:      lines,
		behaviour: Behaviour{Name: Trickles},
		run: func(s *scene) {
			s.echo(`{"text":"grüße aus 東京 🌍🗼"}`)
			s.echo(`{"text":"𝄞"}`)
		},
	},
	{name: "a body with line breaks between its tokens arrives as one message", run: func(s *scene) {
		for _, line := range []string{"\n", "\r\n", "\r"} {
			call := s.call("echo", `{"a":1}`)
			call.Body = bytes.ReplaceAll(call.Body, []byte(`,"`), []byte(","+line+`"`))
			answer, err := s.exchange(call)
			if err != nil || string(answer.Result) != `{"a":1}` {
				s.Errorf("a body with %q: got %s, %v", line, answer.Result, err)
			}
		}
		s.echo(`{}`)
	}},
}

// wantReport checks the report of a message above the cap.
func (s *scene) wantReport(report Oversize, message []byte) {
	s.Helper()
	const shown = 4 << 10
	head, tail := report.Head, report.Tail
	switch {
	case report.Size != int64(len(message)):
		s.Errorf("the report names %d bytes, want %d", report.Size, len(message))
	case len(head) == 0 || len(head) > shown || !bytes.HasPrefix(message, head):
		s.Errorf("the report's head (%d bytes) is not the message's", len(head))
	case len(tail) == 0 || len(tail) > shown || !bytes.HasSuffix(message, tail):
		s.Errorf("the report's tail (%d bytes) is not the message's", len(tail))
	}
}

// blockedRows have a server that does not read.
var blockedRows = []row{
	{
		name:      "what was begun is finished and what was withdrawn is never sent",
		need:      queued,
		behaviour: Behaviour{Name: Naps},
		run: func(s *scene) {
			large := s.large()
			first := s.begin(1, "echo", `{}`)
			s.await("the server to stop reading", func(r *Recorder) bool { return len(r.Messages()) == 1 })
			s.wantBlocked(large)
			if o := s.outcome(first); o.err != nil {
				s.Errorf("the answer: %v", o.err)
			}
			s.wantBegun()
		},
	},
	{
		name:      "a server that stops reading blocks neither deadlines nor answers nor Close",
		need:      queued,
		behaviour: Behaviour{Name: Deaf},
		run: func(s *scene) {
			large := s.large()
			first := s.begin(1, "echo", `{}`)
			s.await("the server to stop reading", func(r *Recorder) bool { return len(r.Messages()) == 1 })
			s.wantBlocked(large)
			if o := s.outcome(first); o.err != nil {
				s.Errorf("the answer that came meanwhile: %v", o.err)
			}
			waiting := s.begin(10, "silent", "")
			again := s.begin(1, "silent", string(filled(`{"data":"`, `"}`, 4*mebibyte)))
			start := time.Now()
			s.close(s.Context())
			for range cap(waiting) {
				s.wantEnded(s.outcome(waiting), start)
			}
			s.wantEnded(s.outcome(again), start)
		},
	},
}

// large returns a call whose message is far larger than what a pipe holds.
func (s *scene) large() *transport.Call {
	return s.call("silent", string(filled(`{"data":"`, `"}`, 4*mebibyte)))
}

// wantBegun checks what a server sees that reads on after wantBlocked: the message that had begun, whole, and its
// cancel note, where the carrier had begun it; nothing that was withdrawn.
func (s *scene) wantBegun() {
	s.Helper()
	want := seen{}
	if s.h.Lines {
		want = seen{Silent: 1, Notes: make([]jsontext.Value, 1)}
	}
	now := s.awaitSeen("what had begun", func(now seen) bool { return now.Silent >= want.Silent })
	if now.Silent != want.Silent || len(now.Notes) != len(want.Notes) {
		s.Errorf("the server has seen %d requests and the notifications %s, want %d and %d",
			now.Silent, now.Notes, want.Silent, len(want.Notes))
	}
}

// wantBlocked checks a large message that the server does not read, and calls behind it.
func (s *scene) wantBlocked(large *transport.Call) {
	s.Helper()
	const idle = 200 * time.Millisecond
	timed := func(what, text string, delivery transport.Delivery, do func() error) {
		s.Helper()
		start := time.Now()
		err := do()
		s.wantPrompt(what, time.Since(start), idle)
		s.wantTimeout(what, err, text)
		s.wantError(what, err, delivery)
	}
	begun := transport.NotDelivered
	if s.h.Lines {
		begun = transport.MaybeDelivered // a part of it is in the pipe
	}
	large.Timeout = idle
	timed("a message of 4 MiB", "request timeout after 200ms", begun, func() error {
		return s.conn.Exchange(s.Context(), large) // no answer is due, so the recorder need not know
	})
	behind := s.call("silent", "")
	behind.Timeout = idle
	timed("a request behind it", "request timeout after 200ms", transport.NotDelivered, func() error {
		_, err := s.exchange(behind)
		return err
	})
	note := s.note(0)
	note.Timeout = idle
	timed("a notification behind it", "notify timeout after 200ms", transport.NotDelivered, func() error {
		return s.conn.Send(s.Context(), note)
	})
}

// wantEnded checks a call that was ended by Close, begun at start.
func (s *scene) wantEnded(o outcome, start time.Time) {
	s.Helper()
	s.wantClosed("a waiting call", o.err)
	if took := o.at.Sub(start); took > promptLimit {
		s.Errorf("a waiting call ended %v after Close was called", took)
	}
}
