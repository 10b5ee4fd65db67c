// Package archtest_test holds the tests of what the compiler does not check: which package may import which, how long a
// file may be, and what only some files may do.
package archtest_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const (
	module = "mcpwire"
	root   = "../.."
)

// A source is one parsed Go file of the repository.
type source struct {
	path   string // from the root, with slashes
	module string // the folder of its module from the root; "." for the library's
	lines  int
	test   bool
	set    *token.FileSet
	tree   *ast.File
}

// parse reads one file. name is its path from the root.
func parse(name string, text []byte) (*source, error) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	return &source{
		path: name, module: ".", lines: strings.Count(string(text), "\n"),
		test: strings.HasSuffix(name, "_test.go"), set: set, tree: tree,
	}, nil
}

// pkg returns the package's folder from the root; "." for the root package.
func (s *source) pkg() string { return path.Dir(s.path) }

// at names the place of a node.
func (s *source) at(n ast.Node) string {
	return s.path + ":" + strconv.Itoa(s.set.Position(n.Pos()).Line)
}

// imports returns the imported paths, and under each the name by which the file calls it.
func (s *source) imports() map[string]string {
	found := map[string]string{}
	for _, spec := range s.tree.Imports {
		target, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		found[target] = path.Base(target)
		if spec.Name != nil {
			found[target] = spec.Name.Name
		}
	}
	return found
}

// selected calls visit for every use of a name of the imported package, such as Kill for syscall.Kill.
func (s *source) selected(pkg string, visit func(name string, at ast.Node)) {
	local, ok := s.imports()[pkg]
	if !ok {
		return
	}
	ast.Inspect(s.tree, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == local {
				visit(sel.Sel.Name, sel)
			}
		}
		return true
	})
}

// ours returns the package's folder from the root, if the imported path is one of this module.
func ours(target string) (pkg string, ok bool) {
	if target == module {
		return ".", true
	}
	return strings.CutPrefix(target, module+"/")
}

// sources returns every Go file of the repository, those of the nested modules too.
func sources(t *testing.T) []*source {
	t.Helper()
	all, err := readTree()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// readTree parses all files, once for all tests.
var readTree = sync.OnceValues(func() ([]*source, error) {
	var all []*source
	modules := map[string]bool{}
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && skipped(d.Name()):
			return fs.SkipDir
		case path.Base(name) == "go.mod":
			modules[path.Dir(name)] = true
		case !d.IsDir() && strings.HasSuffix(name, ".go"):
			s, err := parseFile(name)
			if err != nil {
				return err
			}
			all = append(all, s)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if !modules["."] {
		return nil, errors.New("no go.mod at the root")
	}
	for _, s := range all {
		for s.module = s.pkg(); !modules[s.module]; {
			s.module = path.Dir(s.module)
		}
	}
	return all, nil
})

func parseFile(name string) (*source, error) {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		return nil, err
	}
	return parse(name, text)
}

// skipped tells which folders hold no source of ours: what the go command leaves out, and what is built or installed.
func skipped(folder string) bool {
	return strings.HasPrefix(folder, ".") || strings.HasPrefix(folder, "_") ||
		folder == "testdata" || folder == "node_modules" || folder == "bin"
}

// A check looks at one source and returns what is wrong with it, each with its place.
type check func(*source) []string

// run applies the check to every source of the library's module.
func run(t *testing.T, c check) {
	t.Helper()
	for _, s := range sources(t) {
		if s.module != "." {
			continue
		}
		for _, problem := range c(s) {
			t.Error(problem)
		}
	}
}

// A row is a made-up file and how many problems a check must find in it.
type row struct {
	name, path, text string
	want             int
}

// prove runs the check on made-up files.
func prove(t *testing.T, c check, rows []row) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			s, err := parse(r.path, []byte(r.text))
			if err != nil {
				t.Fatal(err)
			}
			if got := c(s); len(got) != r.want {
				t.Errorf("%d problems, want %d: %q", len(got), r.want, got)
			}
		})
	}
}
