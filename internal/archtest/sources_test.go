package archtest_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Lines of a Go file: above wanted it is named in the log, above limit the test fails.
const (
	wantedLines = 500
	limitLines  = 700
)

func tooLong(s *source) []string {
	if s.lines <= limitLines {
		return nil
	}
	return []string{fmt.Sprintf("%s has %d lines, the limit is %d", s.path, s.lines, limitLines)}
}

func TestNoFileIsTooLong(t *testing.T) {
	for _, s := range sources(t) {
		for _, problem := range tooLong(s) {
			t.Error(problem)
		}
		if s.lines > wantedLines && s.lines <= limitLines {
			t.Logf("%s has %d lines, at most %d are wanted", s.path, s.lines, wantedLines)
		}
	}
}

func TestTheLengthCheckFindsLongFiles(t *testing.T) {
	text := func(lines int) string { return "package rpc\n" + strings.Repeat("\n", lines-1) }
	prove(t, tooLong, []row{
		{"at the limit", "rpc/a.go", text(limitLines), 0},
		{"above it", "rpc/a.go", text(limitLines + 1), 1},
		{"tests count", "rpc/a_test.go", text(limitLines + 1), 1},
	})
}

var (
	revision     = regexp.MustCompile(`^20\d\d-\d\d-\d\d$`)
	revisionName = regexp.MustCompile(`^Rev\d{8}$`)
	eraFile      = regexp.MustCompile(`^(negotiat|era|session|stateless)[a-z_]*\.go$`)
)

// mayCompareRevisions names the files that know one revision from another.
func mayCompareRevisions(s *source) bool {
	return s.test || s.path == "mcp/version.go" || s.pkg() == "client" && eraFile.MatchString(path.Base(s.path))
}

// revisions finds revisions written out, and the constants for them in comparisons. Passing such a constant on is fine.
func revisions(s *source) []string {
	if mayCompareRevisions(s) {
		return nil
	}
	var problems []string
	compared := func(exprs ...ast.Expr) {
		for _, e := range exprs {
			if namesRevision(e) {
				problems = append(problems, s.at(e)+" compares with a revision")
			}
		}
	}
	ast.Inspect(s.tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			text, err := strconv.Unquote(n.Value)
			if n.Kind == token.STRING && err == nil && revision.MatchString(text) {
				problems = append(problems, s.at(n)+" writes a revision out")
			}
		case *ast.BinaryExpr:
			if n.Op != token.ADD {
				compared(n.X, n.Y)
			}
		case *ast.SwitchStmt:
			compared(n.Tag)
		case *ast.CaseClause:
			compared(n.List...)
		case *ast.CallExpr:
			if comparing(n) {
				compared(n.Args...)
			}
		}
		return true
	})
	return problems
}

func namesRevision(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return namesRevision(e.X)
	case *ast.Ident:
		return revisionName.MatchString(e.Name)
	case *ast.SelectorExpr:
		return revisionName.MatchString(e.Sel.Name)
	}
	return false
}

// comparing tells a call such as strings.Compare or slices.Contains.
func comparing(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := sel.X.(*ast.Ident)
	return ok && slices.Contains([]string{"bytes", "cmp", "slices", "strings"}, pkg.Name)
}

func TestOnlyNegotiationAndErasCompareRevisions(t *testing.T) { run(t, revisions) }

func TestTheRevisionCheckFindsComparisons(t *testing.T) {
	file := func(body string) string {
		return "package p; import (\"mcpwire/mcp\"; \"slices\")\nfunc f(rev string) any {\n" + body + "\nreturn nil }"
	}
	prove(t, revisions, []row{
		{"written out", "rpc/a.go", file(`g("2025-11-25")`), 1},
		{"written out in back quotes", "rpc/a.go", file("g(`2026-07-28`)"), 1},
		{"in a comment", "rpc/a.go", file(`// 2025-11-25, lifecycle` + "\n"), 0},
		{"in prose", "internal/cli/a.go", file(`g("HTTP+SSE of 2024-11-05")`), 0},
		{"equal", "transport/streamable/a.go", file(`_ = rev == mcp.Rev20251125`), 1},
		{"less", "manager/a.go", file(`_ = (mcp.Rev20251125) < rev`), 1},
		{"switch", "client/tools.go", file(`switch rev { case mcp.Rev20241105, mcp.Rev20250326: }`), 2},
		{"switch on the constant", "client/tools.go", file(`switch mcp.Rev20241105 { case rev: }`), 1},
		{"by a function", "client/tools.go", file(`_ = slices.Contains(l, mcp.Rev20251125)`), 1},
		{"inside package mcp", "mcp/tools.go", file(`_ = rev >= Rev20251125`), 1},
		{"passed on", "client/tools.go", file(`g(mcp.Rev20251125)`), 0},
		{"the version file", "mcp/version.go", file(`_ = rev >= "2025-11-25"`), 0},
		{"an era's file", "client/session_open.go", file(`_ = rev == mcp.Rev20251125`), 0},
		{"negotiation", "client/negotiate.go", file(`_ = rev == mcp.Rev20251125`), 0},
		{"an era's name elsewhere", "rpc/session.go", file(`_ = rev == mcp.Rev20251125`), 1},
		{"a test", "rpc/a_test.go", file(`g("2025-11-25")`), 0},
	})
}

// starters lists, by package, the functions that start, end or replace processes.
var starters = map[string][]string{
	"os":                       {"StartProcess", "FindProcess"},
	"syscall":                  {"Exec", "ForkExec", "Kill", "StartProcess"},
	"golang.org/x/sys/unix":    {"Exec", "Kill"},
	"golang.org/x/sys/windows": {"CreateProcess", "TerminateProcess", "TerminateJobObject"},
}

// hostile is the file in which hostile servers start and kill processes: theirs, not ours.
const hostile = "internal/survival/pipe_process.go"

func processes(s *source) []string {
	if s.test || s.pkg() == "internal/proc" || s.path == hostile {
		return nil
	}
	var problems []string
	if _, ok := s.imports()["os/exec"]; ok {
		problems = append(problems, s.path+" imports os/exec")
	}
	for pkg, names := range starters {
		s.selected(pkg, func(name string, at ast.Node) {
			if slices.Contains(names, name) {
				problems = append(problems, fmt.Sprintf("%s uses %s.%s", s.at(at), pkg, name))
			}
		})
	}
	slices.Sort(problems)
	return problems
}

func TestOnlyProcOwnsProcesses(t *testing.T) { run(t, processes) }

func TestTheProcessCheckFindsStarters(t *testing.T) {
	prove(t, processes, []row{
		{"os/exec", "transport/stdio/a.go", `package stdio; import "os/exec"`, 1},
		{"os.StartProcess", "internal/cli/a.go", `package cli; import "os"; var f = os.StartProcess`, 1},
		{"syscall.Kill", "manager/a.go", `package manager; import "syscall"; func f() { syscall.Kill(1, 9) }`, 1},
		{"under another name", "rpc/a.go", `package rpc; import sys "syscall"; func f() { sys.Kill(1, 9) }`, 1},
		{"a signal's name", "internal/cli/a.go", `package cli; import "syscall"; var s = syscall.SIGTERM`, 0},
		{"in proc", "internal/proc/a.go", `package proc; import "os/exec"`, 0},
		{"in a test", "rpc/a_test.go", `package rpc_test; import "os/exec"`, 0},
		{"a hostile server", hostile, `package survival; import "os"; var f = os.StartProcess`, 0},
		{"beside it", "internal/survival/a.go", `package survival; import "os"; var f = os.StartProcess`, 1},
	})
}

// slowJSON finds uses of encoding/json beyond the type RawMessage.
func slowJSON(s *source) []string {
	const pkg = "encoding/json"
	var problems []string
	if name := s.imports()[pkg]; name == "." || name == "_" {
		problems = append(problems, fmt.Sprintf("%s imports %s as %s", s.path, pkg, name))
	}
	s.selected(pkg, func(name string, at ast.Node) {
		if name != "RawMessage" {
			problems = append(problems, fmt.Sprintf("%s uses %s.%s", s.at(at), pkg, name))
		}
	})
	return problems
}

func TestEncodingJSONIsUsedForRawMessageOnly(t *testing.T) { run(t, slowJSON) }

func TestTheJSONCheckFindsOtherUses(t *testing.T) {
	prove(t, slowJSON, []row{
		{"RawMessage", "mcp/a.go", `package mcp; import "encoding/json"; var m json.RawMessage`, 0},
		{"Unmarshal", "mcp/a.go", `package mcp; import "encoding/json"; var f = json.Unmarshal`, 1},
		{"under another name", "mcp/a.go", `package mcp; import old "encoding/json"; var f old.Number`, 1},
		{"dot import", "mcp/a.go", `package mcp; import . "encoding/json"; var f = Marshal`, 1},
		{"in a test", "mcp/a_test.go", `package mcp_test; import "encoding/json"; var f = json.Valid`, 1},
		{"another package", "mcp/a.go", `package mcp; import "github.com/x/json"; var f = json.Marshal`, 0},
	})
}
