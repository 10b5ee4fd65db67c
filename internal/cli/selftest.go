package cli

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"mcpwire/internal/survival"
)

// hostileServer is the hidden command that is a server of the catalogue.
const hostileServer = "hostile-server"

func hostileServerCommand() *cobra.Command {
	return &cobra.Command{
		Use:    hostileServer + " ROW",
		Short:  "Be a hostile server, on standard input and output",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return served(survival.Serve(args[0], cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()))
		},
	}
}

func selftestCommand(a *app) *cobra.Command {
	s := &selftest{app: a}
	cmd := &cobra.Command{
		Use:   "selftest [flags] [PATTERN ...]",
		Short: "Meet hostile servers, and show that none of them does harm",
		Long: `Meet every server of a catalogue of hostile ones, and show for each whether mcpwire did what it must: servers
that print noise, fall silent, stop reading, send floods, cut their streams, die, do not want to go, and more. They run
on this machine, as processes and on loopback; nothing else is reached.

A PATTERN chooses rows by their names, as in 'pipe/*/*'. --list tells what each server does and what must come of it.
The exit code is 1 if anything went wrong.`,
		Example: `  mcpwire selftest
  mcpwire selftest --list 'web/session/*'`,
		RunE: s.run,
	}
	cmd.Flags().BoolVar(&s.list, "list", false, "tell what the rows are, and run none")
	cmd.Flags().VarP(&s.output, "output", "o", "`FORM` of the result: text or json (default text)")
	return cmd
}

type selftest struct {
	*app
	list   bool
	output outputFlag
}

func (s *selftest) run(cmd *cobra.Command, patterns []string) error {
	rows, err := chosen(patterns)
	if err != nil {
		return err
	}
	if s.list {
		return s.showRows(rows)
	}
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("the hostile servers can't be started: %w", err)
	}
	ctx, stop := catchSignals(cmd.Context())
	defer stop.release()
	done := s.console.wait("meeting hostile servers")
	defer done()
	start, met, wrong := time.Now(), 0, 0
	runner := survival.Runner{Self: []string{exe, hostileServer}, Done: func(r survival.Result) {
		met++
		if len(r.Wrong) > 0 {
			wrong++
		}
		s.console.say(fmt.Sprintf("meeting hostile servers: %d of %d", met, len(rows)))
	}}
	results := runner.Run(ctx, rows)
	if ctx.Err() != nil {
		return errInterrupted
	}
	if err := s.report(results); err != nil {
		return err
	}
	took := time.Since(start).Round(100 * time.Millisecond)
	if wrong > 0 {
		return fmt.Errorf("%d of %d hostile servers did harm, in %v", wrong, len(results), took)
	}
	s.console.linef("%d hostile servers met in %v, and none did harm", len(results), took)
	return nil
}

// chosen returns the rows that one of the patterns fits; without patterns all.
func chosen(patterns []string) ([]survival.Row, error) {
	for _, p := range patterns {
		if _, err := path.Match(p, ""); err != nil {
			return nil, usagef("pattern %q: %w", p, err)
		}
	}
	rows := slices.DeleteFunc(survival.Rows(), func(r survival.Row) bool {
		return len(patterns) > 0 && !slices.ContainsFunc(patterns, func(p string) bool {
			fits, _ := path.Match(p, r.Name) // it has been checked
			return fits
		})
	})
	if len(rows) == 0 {
		return nil, usagef("no row has a name like %s (\"mcpwire selftest --list\" shows them)", strings.Join(patterns, ", "))
	}
	return rows, nil
}

// A rowAbout is what --list tells of a row, as --output json shows it.
type rowAbout struct {
	Name string `json:"name"`
	Does string `json:"server"` // what the server does
	Must string `json:"client"` // what the client must do
}

func (s *selftest) showRows(rows []survival.Row) error {
	if s.output.json {
		var all struct {
			Rows []rowAbout `json:"rows"`
		}
		for _, r := range rows {
			all.Rows = append(all.Rows, rowAbout{r.Name, r.Does, r.Must})
		}
		text, err := jsonv2.Marshal(all)
		if err != nil {
			return err
		}
		return s.printJSON(text)
	}
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "%s\n    the server %s\n    the client must %s\n", s.out.heading(r.Name), r.Does, r.Must)
	}
	return s.out.write(b.String())
}

// A rowResult is a result as --output json shows it.
type rowResult struct {
	Name string   `json:"name"`
	OK   bool     `json:"ok"`
	MS   int64    `json:"ms"`
	Why  []string `json:"wrong,omitempty"`
}

func (s *selftest) report(results []survival.Result) error {
	var all struct {
		Rows []rowResult `json:"rows"`
	}
	width := 0
	for _, r := range results {
		all.Rows = append(all.Rows, rowResult{r.Row.Name, len(r.Wrong) == 0, r.Took.Milliseconds(), r.Wrong})
		width = max(width, len(r.Row.Name))
	}
	if s.output.json {
		text, err := jsonv2.Marshal(all)
		if err != nil {
			return err
		}
		return s.printJSON(text)
	}
	var b strings.Builder
	for i, r := range all.Rows {
		verdict := "ok"
		if !r.OK {
			verdict = "FAILED"
		}
		fmt.Fprintf(&b, "%s  %-6s  %6d ms\n", padded(r.Name, width), verdict, r.MS)
		if !r.OK {
			fmt.Fprintf(&b, "    the client must %s\n    %s\n", results[i].Row.Must,
				strings.ReplaceAll(s.out.shown(strings.Join(r.Why, "\n")), "\n", "\n    "))
		}
	}
	return s.out.write(b.String())
}
