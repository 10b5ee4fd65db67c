package cli

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
)

// warnings returns a logger that shows warnings as lines, with the server before them and the error behind.
func (c *console) warnings() *slog.Logger { return slog.New(&warner{console: c}) }

type warner struct {
	*console
	attrs []slog.Attr
}

func (w *warner) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

func (w *warner) Handle(_ context.Context, r slog.Record) error {
	server, text, cause := "", r.Message, ""
	add := func(a slog.Attr) bool {
		switch value := fmt.Sprint(a.Value.Any()); a.Key {
		case "server":
			server = value + ": "
		case "error":
			cause = ": " + value
		default:
			text += ", " + a.Key + " " + value
		}
		return true
	}
	for _, a := range w.attrs {
		add(a)
	}
	r.Attrs(add)
	w.line("mcpwire: warning: " + indented(errorText(fmt.Errorf("%s%s%s", server, text, cause))))
	return nil
}

func (w *warner) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &warner{w.console, slices.Concat(w.attrs, attrs)}
}

func (w *warner) WithGroup(string) slog.Handler { return w }
