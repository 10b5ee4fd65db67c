package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"mcpwire/config"
	"mcpwire/manager"
	"mcpwire/mcp"
)

// A row is what the command servers tells of one server. Its members in JSON stay as they are from version to version.
type row struct {
	Name      string   `json:"name"`
	Scope     string   `json:"scope"`         // empty for a server that is in no file
	Host      string   `json:"host,omitzero"` // the other program whose file that is; empty: it is ours
	Path      string   `json:"path"`          // as above
	Transport string   `json:"transport"`
	Era       string   `json:"era"`      // "session" or "stateless"; empty until it is known
	Revision  string   `json:"revision"` // as above
	State     string   `json:"state"`
	Tools     int      `json:"tools"`
	ReadyMS   *float64 `json:"readyMs"` // nil until it is ready
	Error     *string  `json:"error"`   // nil if nothing is wrong
	Server    *about   `json:"server"`  // nil until it has told
}

// about is what a server calls itself.
type about struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// rowOf tells of one server. At the end no server is waiting for another attempt any more: it has failed.
func rowOf(s manager.Status, end bool) row {
	r := row{
		Name: s.Config.Name, Scope: string(s.Config.Scope), Host: s.Config.Host, Path: s.Config.Origin,
		Transport: transportOf(s.Config), State: s.State.String(),
	}
	if end && (s.State == manager.Waiting || s.State == manager.Connecting) {
		r.State = manager.Failed.String()
	}
	if err := trouble(s); err != nil && (end || !pending(s)) {
		text := errorText(err)
		r.Error = &text
	}
	if s.State != manager.Ready {
		return r
	}
	r.Era, r.Revision = eraOf(s.Server.Revision), s.Server.Revision
	ms := float64(s.TimeToReady.Microseconds()) / 1000
	r.ReadyMS = &ms
	r.Server = &about{s.Server.Info.Name, s.Server.Info.Version}
	if !s.Cached {
		r.Tools = s.Tools
	}
	return r
}

// row tells of an entry that can't be used.
func (u unusable) row() row {
	text := errors.Join(u.faults...).Error()
	return row{
		Name: u.server, Scope: string(u.scope), Host: u.host, Path: u.path, State: manager.Failed.String(), Error: &text,
	}
}

func transportOf(s config.Server) string {
	kind, err := s.Kind()
	if err != nil {
		return ""
	}
	return string(kind)
}

func eraOf(revision string) string {
	switch {
	case mcp.IsStateless(revision):
		return "stateless"
	case mcp.IsSession(revision):
		return "session"
	}
	return ""
}

var columns = []string{"NAME", "STATE", "TOOLS", "READY", "TRANSPORT", "PROTOCOL", "SOURCE", "ERROR"}

// cells are the row's columns. Each is one line without control characters.
func (r row) cells() []string {
	cells := []string{r.Name, r.State, "", "", r.Transport, r.Revision, r.Scope + " " + r.Host + " " + r.Path, ""}
	if r.ReadyMS != nil {
		cells[2], cells[3] = fmt.Sprint(r.Tools), milliseconds(*r.ReadyMS)
	}
	if r.Era != "" {
		cells[5] += " (" + r.Era + ")"
	}
	if r.Error != nil {
		cells[7] = strings.TrimPrefix(*r.Error, r.Name+": ")
	}
	for i, cell := range cells {
		cells[i] = strings.Join(strings.Fields(plain(cell)), " ")
	}
	return cells
}

func milliseconds(ms float64) string {
	if ms < 1000 {
		return fmt.Sprintf("%.0f ms", ms)
	}
	return fmt.Sprintf("%.1f s", ms/1000)
}

// table lays rows out, under a line of headings.
func table(rows [][]string) []string { return aligned(append([][]string{columns}, rows...)) }

// aligned lays rows out in columns.
func aligned(rows [][]string) (lines []string) {
	widths := make([]int, len(rows[0]))
	for _, cells := range rows {
		for i, cell := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, cells := range rows {
		var b strings.Builder
		for i, cell := range cells {
			b.WriteString(padded(cell, widths[i]) + "  ")
		}
		lines = append(lines, strings.TrimRight(b.String(), " "))
	}
	return lines
}

// finalTable is the table at the end.
func finalTable(s *manager.Snapshot) []string {
	var rows [][]string
	for _, one := range s.Servers {
		rows = append(rows, rowOf(one, true).cells())
	}
	return table(rows)
}

// liveTable is the table while servers are being connected: those that are have a spinner, and the time that has gone
// by. It fits into a terminal of that size, with a line below it for the cursor.
func liveTable(s *manager.Snapshot, frame, width, height int, now time.Time) []string {
	var rows [][]string
	for _, one := range s.Servers {
		cells := rowOf(one, false).cells()
		if one.State == manager.Connecting {
			cells[1] = string(frames[frame%len(frames)]) + " " + cells[1]
			cells[3] = milliseconds(float64(now.Sub(one.Since).Milliseconds())) + "…"
		}
		rows = append(rows, cells)
	}
	lines := table(rows)
	if room := max(height-1, 2); len(lines) > room {
		hidden := len(lines) - room + 1
		lines = append(lines[:room-1], fmt.Sprintf("… and %d more", hidden))
	}
	for i, line := range lines {
		if runes := []rune(line); len(runes) >= width {
			lines[i] = string(runes[:max(width-2, 0)]) + "…"
		}
	}
	return lines
}
