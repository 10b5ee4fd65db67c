package cli

import (
	"slices"
	"strings"

	"mcpwire/mcp"
)

// levels are the levels of log messages, the least severe first (RFC 5424; 2025-11-25, logging, log levels).
var levels = []mcp.LogLevel{
	mcp.LogDebug, mcp.LogInfo, mcp.LogNotice, mcp.LogWarning,
	mcp.LogError, mcp.LogCritical, mcp.LogAlert, mcp.LogEmergency,
}

// levelNames lists them in words.
func levelNames() []string {
	var names []string
	for _, l := range levels {
		names = append(names, string(l))
	}
	return names
}

// parseLevel returns the level that a command line names.
func parseLevel(text string) (mcp.LogLevel, error) {
	level := mcp.LogLevel(strings.ToLower(text))
	if slices.Contains(levels, level) {
		return level, nil
	}
	hint := didYouMean(text, levelNames())
	if hint == "" {
		hint = "; known are " + strings.Join(levelNames(), ", ")
	}
	return "", usagef("unknown log level %q%s", text, hint)
}

// severe reports whether a message of a level tells of something that has failed.
func severe(level mcp.LogLevel) bool {
	return slices.Index(levels, level) >= slices.Index(levels, mcp.LogError)
}

// A levelFlag is the level from which on log messages are wanted; empty: none are.
type levelFlag struct{ level mcp.LogLevel }

func (f *levelFlag) Type() string      { return "LEVEL" }
func (f *levelFlag) String() string    { return string(f.level) }
func (f *levelFlag) choices() []string { return levelNames() }

func (f *levelFlag) Set(text string) (err error) {
	f.level, err = parseLevel(text)
	return err
}
