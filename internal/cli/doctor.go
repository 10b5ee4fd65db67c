package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"mcpwire/config"
	"mcpwire/internal/doctor"
	"mcpwire/internal/proc"
)

// doctorParallel is how many servers are examined at once.
const doctorParallel = 4

func doctorCommand(a *app) *cobra.Command {
	f := &serverFlags{}
	strict := false
	cmd := &cobra.Command{
		Use:   "doctor [flags] [SERVER ...]\n  mcpwire doctor [flags] -- COMMAND ARG...",
		Short: "Find out why a server does not work, and what to change",
		Long: `Find out why a server does not work, and what to change.

Each server is started or reached, spoken to, and shut down just as any host does it; what happens on the way is shown
step by step, with what to change behind each finding. Without SERVER it is done with all that are configured. Those
that are disabled, and those of a project's file that nobody has approved, are told and not started. --timeout bounds
the connecting as well as each answer.

The exit code is 0 if all are healthy, with warnings or not; 1 if any is broken, with --strict also if any is warned;
4 if nothing is broken and somebody must log in. docs/doctor.md lists the findings and the form of --output json.`,
		Example: `  mcpwire doctor
  mcpwire doctor files --strict
  mcpwire doctor -o json -- npx -y some-mcp-server`,
		RunE: func(cmd *cobra.Command, args []string) error {
			patients, err := a.patients(cmd, args, f)
			if err != nil {
				return err
			}
			if len(patients) == 0 {
				a.console.line("no servers are configured (\"mcpwire add --help\" tells how to add one)")
			}
			return a.doctor(cmd.Context(), patients, f, strict)
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&strict, "strict", false, "let a warning be a failure")
	return cmd
}

// A patient is a server that is to be examined, or the report of one that is not.
type patient struct {
	target
	problems []*config.Problem
	report   *doctor.Report // nil: it is to be examined
}

// patients returns the servers that a command line means.
func (a *app) patients(cmd *cobra.Command, args []string, f *serverFlags) ([]patient, error) {
	names, command, err := splitAtDash(cmd, args)
	switch {
	case err != nil:
		return nil, err
	case command != nil && len(names) > 0:
		return nil, usagef("both the server %q and a command behind -- are given; give one of them", names[0])
	case command != nil:
		return []patient{{target: bounded(adHoc(command, f), f)}}, nil
	}
	c := &catalogue{Set: &config.Set{}}
	if len(names) == 0 || slices.ContainsFunc(names, func(name string) bool { _, ok := hostOf(name); return !ok }) {
		if c, err = a.load(f.config, f.imports...); err != nil {
			return nil, err
		}
	}
	if len(names) > 0 {
		return c.chosen(names, f)
	}
	a.showWaiting(c)
	var all []patient
	for _, s := range c.Servers {
		all = append(all, c.patient(newTarget(s, inFile(f.config, f.imports...)+shellWords([]string{s.Name}), f), false, f))
	}
	for _, lost := range broken(c.Set) {
		all = append(all, lost.patient())
	}
	return all, nil
}

// chosen returns the servers of those names or addresses, each once.
func (c *catalogue) chosen(names []string, f *serverFlags) (all []patient, err error) {
	taken := map[string]bool{}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			continue
		}
		if host, ok := hostOf(name); ok {
			host = unlike(taken, host)
			taken[host] = true
			t := newTarget(config.Server{Name: host, URL: name}, shellWords([]string{name}), f)
			all = append(all, patient{target: bounded(t, f)})
			continue
		}
		t, err := c.find(name, inFile(f.config, f.imports...)+shellWords([]string{name}), f)
		if problem, ok := errors.AsType[*config.Problem](err); ok {
			all = append(all, unusable{server: name, faults: []error{problem}}.patient())
			continue
		}
		if err != nil {
			return nil, err
		}
		taken[name] = true
		all = append(all, c.patient(t, true, f))
	}
	return all, nil
}

// patient is the patient of an entry that can be used. Whoever names one that may not be started wants to know why.
func (c *catalogue) patient(t target, named bool, f *serverFlags) patient {
	p := patient{target: bounded(t, f)}
	for _, problem := range c.Problems {
		if problem.Server == t.Name && problem.Path == t.Origin {
			p.problems = append(p.problems, problem)
		}
	}
	verdict := doctor.Note
	if named {
		verdict = doctor.Broken
	}
	switch {
	case t.Disabled:
		p.report = doctor.Unexamined(t.Server, doctor.Note, "disabled", fmt.Sprintf("it is disabled at %v",
			t.Places["disabled"]), fmt.Sprintf("run \"mcpwire enable %s\" if it is wanted", t.again))
	case c.waits(t.Server) != nil:
		path := c.waits(t.Server).Path
		p.report = doctor.Unexamined(t.Server, verdict, "not-approved", visible(path)+
			" comes with the project and nobody has approved it, so its servers are not started",
			fmt.Sprintf("look at it, then run \"mcpwire trust %s\"", shellWords([]string{path})))
	}
	return p
}

// patient is the report of an entry or a file that can't be used.
func (u unusable) patient() patient {
	name := u.server
	if name == "" {
		name = u.path
	}
	return patient{target: target{Server: config.Server{Name: name}}, report: doctor.Unusable(name, u.faults)}
}

// bounded has the flag --timeout bound the connecting too.
func bounded(t target, f *serverFlags) target {
	if f.timeout.value != nil {
		t.ConnectTimeout = f.timeout.value
	}
	return t
}

// doctor examines servers, some at a time, and shows the reports in the order of the servers.
func (a *app) doctor(ctx context.Context, patients []patient, f *serverFlags, strict bool) error {
	ctx, stop := catchSignals(ctx)
	defer stop.release()
	done := a.console.wait("examining")
	defer done()
	a.endOrphans(ctx, patients)
	slots := make(chan struct{}, doctorParallel)
	ready := make([]chan *doctor.Report, len(patients))
	var running sync.WaitGroup
	defer running.Wait()
	for i, p := range patients {
		ready[i] = make(chan *doctor.Report, 1)
		running.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			ready[i] <- a.examine(ctx, stop, p, f)
		})
	}
	reports := []*doctor.Report{}
	for i := range patients {
		r := <-ready[i]
		if ctx.Err() != nil {
			return errInterrupted
		}
		reports = append(reports, r)
		if !f.output.json {
			if err := a.out.write(a.reportText(r)); err != nil {
				stop.cancel(err)
				return err
			}
		}
	}
	if f.output.json {
		if err := a.printReports(reports); err != nil {
			return err
		}
	}
	return judgement(reports, strict)
}

// endOrphans tells which servers an earlier run had left behind. They are ended before the first is started, as ever.
func (a *app) endOrphans(ctx context.Context, patients []patient) {
	folder, err := config.StateDir()
	if err != nil || !slices.ContainsFunc(patients, func(p patient) bool { return p.report == nil && p.Command != "" }) {
		return
	}
	orphans, err := proc.LedgerIn(filepath.Join(folder, "processes")).ReapOnce(ctx)
	for _, o := range orphans {
		a.console.linef("mcpwire: warning: an earlier run had left the server %s (process %d) behind; it was ended",
			o.Command, o.Pid)
	}
	if err != nil && ctx.Err() == nil {
		a.console.linef("mcpwire: warning: servers that an earlier run has left behind can't be ended: %v", err)
	}
}

func (a *app) examine(ctx context.Context, stop *stopper, p patient, f *serverFlags) *doctor.Report {
	if p.report != nil || ctx.Err() != nil {
		return p.report
	}
	return doctor.Examine(ctx, p.Server, doctor.Options{
		Connect: a.options(p.target, f), Problems: p.problems, Login: "mcpwire login " + p.again, Nearest: nearest,
		Closing: stop.closing, Say: a.console.say,
	})
}

func (a *app) printReports(reports []*doctor.Report) error {
	text, err := jsonv2.Marshal(struct {
		Servers []*doctor.Report `json:"servers"`
	}{reports}, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return err
	}
	return a.printJSON(json.RawMessage(text))
}

// headlines tell the verdict on a server.
var headlines = map[doctor.Verdict]string{
	doctor.OK: "healthy", doctor.Warning: "works, with warnings", doctor.Login: "somebody must log in",
	doctor.Broken: "broken", doctor.Skipped: "not examined",
}

// reportText shows a report: a line a step, and two a finding.
func (a *app) reportText(r *doctor.Report) string {
	var b strings.Builder
	headline := headlines[r.Verdict]
	if r.Verdict != doctor.Skipped {
		headline += " (" + milliseconds(r.MS) + ")"
	}
	b.WriteString(a.out.heading(r.Name+": "+headline) + "\n")
	for _, s := range r.Steps {
		line := "  " + padded(string(s.Verdict), 9) + padded(s.Name, 14) + padded(stepTime(s), 9) + plain(s.Text)
		b.WriteString(strings.TrimRight(line, " ") + "\n")
		for _, finding := range s.Findings {
			fmt.Fprintf(&b, "             %s (%s): %s\n", finding.ID, finding.Verdict, plain(finding.Text))
			fmt.Fprintf(&b, "             → %s\n", plain(finding.Fix))
		}
	}
	return b.String()
}

func stepTime(s *doctor.Step) string {
	if s.MS == 0 {
		return ""
	}
	return milliseconds(s.MS)
}

// judgement is the error of an examination; nil if no server is broken.
func judgement(reports []*doctor.Report, strict bool) error {
	e := &doctorError{all: len(reports)}
	for _, r := range reports {
		switch r.Verdict {
		case doctor.Broken:
			e.broken++
		case doctor.Login:
			e.login++
		case doctor.Warning:
			e.warned++
		case doctor.OK, doctor.Note, doctor.Skipped:
		}
	}
	if e.strict = strict && e.warned > 0; e.broken > 0 || e.login > 0 || e.strict {
		return e
	}
	return nil
}

// A doctorError tells that servers are broken, or that somebody must log in. What is wrong with each has been told.
type doctorError struct {
	broken, login, warned, all int
	strict                     bool // warnings count
}

func (e *doctorError) Error() string {
	switch {
	case e.broken > 0 && e.all == 1:
		return "the server is broken"
	case e.broken > 0:
		return fmt.Sprintf("%d of %d servers are broken", e.broken, e.all)
	case e.strict:
		return "there are warnings, and --strict is given"
	}
	return "somebody must log in"
}

// code returns the exit code.
func (e *doctorError) code() int {
	if e.broken == 0 && !e.strict {
		return exitLogin
	}
	return exitFailed
}
