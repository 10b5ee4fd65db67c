package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"mcpwire/internal/jsonscan"
	"mcpwire/internal/tracing"
	"mcpwire/jsonrpc"
	"mcpwire/trace"
)

// noteText tells of a message: its id, its method, how long its answer took, and if it stands alone what is in it.
func noteText(i *tracing.Item, n tracing.Note, alone bool) string {
	var words []string
	if n.Kind != jsonrpc.Notification && !n.ID.IsAbsent() {
		words = append(words, "#"+n.ID.String())
	}
	words = append(words, n.Method, n.Name)
	if n.Kind == jsonrpc.Response {
		if n.Call == nil {
			words = append(words, "answers nothing")
		} else {
			words = append(words, "answered after "+shortTime(i.Time.Sub(n.Call.Start)))
			if n.Call.Late {
				words = append(words, "(too late)")
			}
		}
	}
	switch {
	case n.Tool:
		words = append(words, "tool error: "+n.Error)
	case n.Error != "":
		words = append(words, "error "+n.Error)
	case alone:
		words = append(words, payload(i))
	}
	return strings.Join(strings.Fields(strings.Join(words, " ")), " ")
}

// payload is the part of a message that matters: what is asked or answered, without _meta.
func payload(i *tracing.Item) string {
	if len(i.Message) == 0 {
		return fmt.Sprintf("%s: %s", byteSize(float64(i.Size)), i.Text)
	}
	m, err := jsonrpc.Parse(i.Message)
	switch {
	case err != nil:
		return string(i.Message)
	case m.Params != nil:
		return withoutMeta(m.Params)
	}
	return withoutMeta(m.Result)
}

func withoutMeta(object []byte) string {
	var members []string
	err := jsonscan.Members(object, func(name, value []byte) error {
		if string(name) != "_meta" {
			members = append(members, strconv.Quote(string(name))+":"+string(value))
		}
		return nil
	})
	if err != nil {
		return string(object)
	}
	return "{" + strings.Join(members, ",") + "}"
}

// eventText tells of an event that is no message.
func eventText(i *tracing.Item) string {
	var words []string
	add := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	add("%s", i.Kind)
	if i.Kind == trace.Exited {
		words[0] = "the process has gone:"
	}
	if i.Carrier != "" {
		add("%s", i.Carrier)
	}
	if x := i.Event.HTTP; x != nil {
		add("%s %s", x.Method, x.URL)
		if x.Status != 0 {
			add("%d", x.Status)
		}
	}
	if x := i.Exit; x != nil {
		add("%s", exitText(tracing.Exit(*x)))
	}
	if i.Took != 0 {
		add("after %s", shortMS(i.Took))
	}
	if i.Delivery != "" {
		add("(%s)", i.Delivery)
	}
	for _, c := range i.Calls {
		add("#%s %s", c.ID, c.Title())
	}
	if i.Size != 0 && len(i.Message) == 0 {
		add("%s:", byteSize(float64(i.Size)))
	}
	if i.Error != "" {
		add("error: %s", i.Error)
	}
	return strings.Join(append(words, i.Text), " ")
}

func exitText(x tracing.Exit) string {
	text := "exit status " + strconv.Itoa(x.Code)
	if x.Signal != "" {
		text = "ended by " + x.Signal
	}
	switch x.After {
	case "eof":
		text += ", after its input was closed"
	case "term":
		text += ", after it was asked to end"
	case "kill":
		text += ", after it was killed"
	}
	if x.Left {
		text += ", and left others running"
	}
	return text
}

// shortTime shows a duration with two or three digits.
func shortTime(d time.Duration) string { return shortMS(float64(d) / float64(time.Millisecond)) }

func shortMS(ms float64) string {
	switch {
	case ms < 10:
		return fmt.Sprintf("%.1f ms", ms)
	case ms < 1000:
		return fmt.Sprintf("%.0f ms", ms)
	case ms < 60_000:
		return fmt.Sprintf("%.1f s", ms/1000)
	}
	return (time.Duration(ms) * time.Millisecond).Round(time.Second).String()
}
