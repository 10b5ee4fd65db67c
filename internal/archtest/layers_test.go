package archtest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// layers places every package, lowest first. A package imports only from lines above its own.
var layers = []struct {
	name     string
	packages []string
}{
	{"L1 (scanner)", []string{"internal/jsonscan", "internal/atomicfile", "internal/readable", "internal/leaks"}},
	{"L1", []string{"jsonrpc"}},
	{"L2", []string{
		"mcp", "transport",
		"internal/ndjson", "internal/sse", "internal/proc", "internal/redact", "internal/filecache", "internal/localhost",
		"internal/keyboard",
	}},
	{"L2 (what the HTTP carriers share)", []string{"internal/httpwire"}},
	{"L3", []string{
		"rpc", "auth", "config", "internal/otlp", "internal/eracache", "internal/toolcache", "oneshot", "trace",
		"transport/stdio", "transport/streamable", "transport/legacysse",
	}},
	{"L4", []string{"client", "replay", "internal/recorder", "internal/tracing"}},
	{"L5", []string{"manager", "telemetry", "skills"}},
	{"L6", []string{".", "internal/demo"}},
	{"L6 (catalogue, doctor)", []string{"internal/survival", "internal/doctor"}},
	{"L7", []string{"internal/cli"}},
	{"L7 (program)", []string{"cmd/mcpwire", "internal/release"}},
	{"L7 (packing)", []string{"internal/release/pack"}},
}

// support lists the packages that only tests import, and which of ours they import themselves.
var support = map[string][]string{
	"internal/archtest":       nil,
	"internal/bench":          nil,
	"internal/soak":           nil,
	"internal/proc/proctest":  {"internal/leaks"},
	"transport/transporttest": {"jsonrpc", "transport", "internal/leaks"},
	"mcpwiretest":             {"client", "replay", "transport", "transport/transporttest", "internal/localhost"},
}

var carriers = []string{"transport/stdio", "transport/streamable", "transport/legacysse"}

// never lists imports of ours that the layers would allow.
var never = map[string][]string{
	"transport": {"jsonrpc"}, // a carrier's contract knows neither ids nor methods
	"client":    carriers,
	"manager":   append([]string{"auth"}, carriers...),
	"skills":    append([]string{"auth", "config", "client"}, carriers...),
	"telemetry": append([]string{"auth", "config"}, carriers...),
}

// foreign tells, for packages that may use little of what is not ours, whether an import is allowed.
var foreign = map[string]func(target string) bool{
	"jsonrpc":           func(target string) bool { return !doesIO(target) },
	"internal/jsonscan": func(target string) bool { return !doesIO(target) },
	"mcp":               encodes,
}

func doesIO(target string) bool {
	first, _, _ := strings.Cut(target, "/")
	return slices.Contains([]string{"bufio", "io", "log", "net", "os", "syscall"}, first) ||
		strings.HasPrefix(target, "golang.org/x/net") || strings.HasPrefix(target, "golang.org/x/sys")
}

func encodes(target string) bool {
	if strings.HasPrefix(target, "encoding/") || strings.HasPrefix(target, "github.com/go-json-experiment/json") {
		return true
	}
	return slices.Contains([]string{
		"bytes", "cmp", "errors", "fmt", "maps", "slices", "strconv", "strings", "unicode", "unicode/utf8",
	}, target)
}

// layerOf returns the index of the package's layer, -1 if it has none.
func layerOf(pkg string) int {
	for i, l := range layers {
		if slices.Contains(l.packages, pkg) {
			return i
		}
	}
	return -1
}

// layering is the check of a file's imports. The imports of tests are free: a test may compose what it likes.
func layering(s *source) []string {
	var problems []string
	pkg := s.pkg()
	own := layerOf(pkg)
	allowed, supports := support[pkg]
	if own < 0 && !supports {
		return []string{fmt.Sprintf("%s: package %s has no place in the table of layers", s.path, pkg)}
	}
	if s.test {
		return nil
	}
	for target := range s.imports() {
		dep, isOurs := ours(target)
		_, depSupports := support[dep]
		var why string
		switch {
		case !isOurs:
			if may := foreign[pkg]; may != nil && !may(target) {
				why = "which it must do without"
			}
		case supports:
			if !slices.Contains(allowed, dep) {
				why = "which is not in its list"
			}
		case depSupports:
			why = "which is for tests only"
		case layerOf(dep) < 0:
			why = "which has no place in the table of layers"
		case layerOf(dep) >= own:
			why = fmt.Sprintf("which is not below it: %s, %s", layers[own].name, layers[layerOf(dep)].name)
		case slices.Contains(never[pkg], dep):
			why = "which it must never know"
		}
		if why != "" {
			problems = append(problems, fmt.Sprintf("%s: %s imports %s, %s", s.path, pkg, target, why))
		}
	}
	slices.Sort(problems)
	return problems
}

func TestPackagesImportOnlyFromLowerLayers(t *testing.T) { run(t, layering) }

func TestTheLayerCheckFindsForbiddenImports(t *testing.T) {
	prove(t, layering, []row{
		{"down is fine", "client/a.go", `package client; import ("context"; "mcpwire/rpc"; "mcpwire/mcp")`, 0},
		{"the root sees all", "connect.go", `package mcpwire; import ("mcpwire/manager"; "mcpwire/auth")`, 0},
		{"up", "transport/a.go", `package transport; import "mcpwire/rpc"`, 1},
		{"up to the root", "manager/a.go", `package manager; import "mcpwire"`, 1},
		{"side by side in L3", "rpc/a.go", `package rpc; import _ "mcpwire/transport/stdio"`, 1},
		{"the scanner knows no messages", "internal/jsonscan/a.go", `package jsonscan; import "mcpwire/jsonrpc"`, 1},
		{"an unplaced package", "newthing/a.go", `package newthing`, 1},
		{"an unplaced package of tests", "newthing/a_test.go", `package newthing_test`, 1},
		{"an unplaced import", "internal/cli/a.go", `package cli; import "mcpwire/newthing"`, 1},
		{"a package for tests", "rpc/a.go", `package rpc; import "mcpwire/transport/transporttest"`, 1},
		{"one in a test", "rpc/a_test.go", `package rpc_test; import "mcpwire/transport/transporttest"`, 0},
		{"support in support", "mcpwiretest/a.go", `package mcpwiretest; import "mcpwire/transport/transporttest"`, 0},
		{"what support imports", "transport/transporttest/a.go", `package transporttest; import "mcpwire/client"`, 1},
		{"I/O in jsonrpc", "jsonrpc/a.go", `package jsonrpc; import ("io"; "net/http"; "strconv")`, 2},
		{"behaviour in mcp", "mcp/a.go", `package mcp; import ("context"; "encoding/base64"; "net/http")`, 2},
		{"a carrier in client", "client/a.go", `package client; import "mcpwire/transport/streamable"`, 1},
		{"auth in manager", "manager/a.go", `package manager; import ("mcpwire/auth"; "mcpwire/client")`, 1},
		{"messages in the contract", "transport/a.go", `package transport; import "mcpwire/jsonrpc"`, 1},
		{"another module of the same beginning", "rpc/a.go", `package rpc; import "mcpwirex/client"`, 0},
	})
}

func TestNoPackageIsPlacedTwice(t *testing.T) {
	seen := map[string]bool{}
	for _, l := range layers {
		for _, pkg := range l.packages {
			if _, supports := support[pkg]; seen[pkg] || supports {
				t.Errorf("%s is placed twice", pkg)
			}
			seen[pkg] = true
		}
	}
}
