// Command pack makes the archives of a release of the binaries that are named; "make release" runs it. Its standard
// input has the path and the folder of each module on a line.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"mcpwire/client"
	"mcpwire/internal/release"
)

func main() {
	var revision, seconds, out string
	var modified bool
	flag.StringVar(&revision, "revision", "", "the `COMMIT` that the binaries were built from")
	flag.StringVar(&seconds, "time", "", "of all files, in `SECONDS` since 1970; empty: not known")
	flag.BoolVar(&modified, "modified", false, "files differed from the commit, which the names of archives tell")
	flag.StringVar(&out, "out", "dist", "the `FOLDER` to write to")
	flag.Parse()
	r := release.Release{
		Version: client.Version, Revision: revision, Time: release.Earliest, Root: ".", Modules: map[string]string{},
	}
	if modified {
		r.Version += "-modified"
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		path, folder, _ := strings.Cut(lines.Text(), " ")
		r.Modules[path] = folder
	}
	if err := lines.Err(); err != nil {
		fail(err)
	}
	if seconds != "" {
		n, err := strconv.ParseInt(seconds, 10, 64)
		if err != nil {
			fail(fmt.Errorf("-time: %w", err))
		}
		if at := time.Unix(n, 0).UTC(); at.After(release.Earliest) {
			r.Time = at
		}
	}
	var programs []release.Program
	for _, path := range flag.Args() {
		p, err := release.ReadProgram(path)
		if err != nil {
			fail(err)
		}
		programs = append(programs, p)
	}
	if err := r.Pack(context.Background(), out, programs); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "pack:", err)
	os.Exit(1)
}
