package cli

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"mcpwire/client"
	"mcpwire/mcp"
)

// The commit, which a release sets when it is linked: what the go command stamps is missing in linked work trees, and
// depends on which tags a clone has.
var (
	linkedRevision string
	linkedTime     string // RFC 3339, in UTC
	linkedModified string // "true" or "false"
)

// A build is what the command version tells. Its members in JSON stay as they are from version to version.
type build struct {
	Version string `json:"version"`
	// Of the commit that it was built from; empty where the build knew of none.
	Revision  string   `json:"revision"`
	Time      string   `json:"time"`
	Modified  bool     `json:"modified"` // files differed from the commit
	Go        string   `json:"go"`
	OS        string   `json:"os"`
	Arch      string   `json:"arch"`
	Protocols []string `json:"protocols"` // newest first
}

func versionCommand(a *app) *cobra.Command {
	var form outputFlag
	cmd := &cobra.Command{
		Use:   "version [flags]",
		Short: "Tell which build of mcpwire this is, and what it speaks",
		Long: `Tell which build of mcpwire this is: version, the commit that it was built from, the Go version, the platform,
and the revisions of the protocol that it speaks. "mcpwire --version" tells the version alone.`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			if !form.json {
				return a.out.write(thisBuild().text())
			}
			text, err := jsonv2.Marshal(thisBuild())
			if err != nil {
				return err
			}
			return a.printJSON(json.RawMessage(text))
		},
	}
	cmd.Flags().VarP(&form, "output", "o", "`FORM` of the result: text or json (default text)")
	return cmd
}

func thisBuild() build {
	b := build{
		Version: client.Version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, Protocols: mcp.Revisions(),
	}
	if linkedRevision != "" {
		b.Revision, b.Time, b.Modified = linkedRevision, linkedTime, linkedModified == "true"
		return b
	}
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		return b
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

func (b build) text() string {
	commit := "not known"
	if b.Revision != "" {
		commit = b.Revision
		if b.Time != "" {
			commit += " of " + b.Time
		}
		if b.Modified {
			commit += ", with files modified"
		}
	}
	return fmt.Sprintf("mcpwire %s\ncommit     %s\ngo         %s\nplatform   %s/%s\nprotocols  %s\n",
		b.Version, commit, b.Go, b.OS, b.Arch, strings.Join(b.Protocols, ", "))
}
