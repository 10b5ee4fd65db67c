package cli

import (
	"github.com/spf13/cobra"

	"mcpwire/config"
)

func trustCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "trust [FILE]",
		Short: "Approve the servers of a project's file, so that they may be started",
		Long: `Approve the servers of a project's file, so that they may be started.

A project's ` + projectFile + ` names programs, and may come from strangers: its servers are not started until its
content was approved, once. FILE is the nearest ` + projectFile + `, in this folder or above it up to the root of the
repository, unless another is given, which may be that of another program, such as .cursor/mcp.json ("mcpwire import
--help"). What is approved is shown. After any change of the file it must be approved again.`,
		Example: `  mcpwire trust
  mcpwire trust ~/src/project/` + projectFile,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("one file is wanted, got %q", args)
			}
			return a.trust(args)
		},
	}
}

func (a *app) trust(args []string) error {
	path, found := config.ProjectFile("")
	switch {
	case len(args) == 1:
		path = args[0]
	case !found:
		return usagef("there is no %s in this folder, nor above it in the repository", projectFile)
	}
	file, err := config.ReadProjectFile(path)
	if err != nil {
		return &usageError{err}
	}
	for _, p := range file.Problems {
		a.console.linef("mcpwire: %s: %v", p.Severity, p)
	}
	if err := a.out.write(descriptions(file)); err != nil {
		return err
	}
	trust, done := config.OpenTrust(""), "approved "
	if trust.Trusted(file) {
		done = "approved before: "
	} else if err := trust.Approve(file); err != nil {
		return err
	}
	return a.out.write(done + visible(path) + "\n")
}
