package client

import (
	"context"
	"errors"
	"fmt"

	"mcpwire/mcp"
	"mcpwire/rpc"
)

// ErrNoSkills tells that the server has not declared what is asked of it: the skills extension, or of that the reading
// of directories.
var ErrNoSkills = errors.New("the server does not offer that")

// ListSkills returns the skills that the server lists, from all pages, each URI once; nothing is read of them. That a
// skill is not listed doesn't mean that there is none: GetSkill asks for one by its URI. It is empty where the server
// has not declared the extension, which is then not asked (skills, capability negotiation). Errors are as those of
// ListTools.
func (c *Client) ListSkills(ctx context.Context) ([]mcp.Skill, error) {
	if _, err := c.skills(); err != nil {
		return nil, nil //nolint:nilerr // as of a server that doesn't know the method of a list
	}
	return walk(ctx, c, listing[mcp.Skill]{
		method: mcp.MethodListSkills, items: "skills", key: func(s *mcp.Skill) string { return s.URI },
	})
}

// GetSkill returns the entry of the skill whose SKILL.md has this URI, whether or not it is listed. That there is none
// is a *jsonrpc.Error with jsonrpc.CodeInvalidParams; a server without the extension is an ErrNoSkills. Other errors
// are those of rpc.Peer.Request.
func (c *Client) GetSkill(ctx context.Context, uri string) (*mcp.Skill, error) {
	if _, err := c.skills(); err != nil {
		return nil, err
	}
	params, err := mcp.Encode(mcp.GetSkillParams{URI: uri})
	if err != nil {
		return nil, err
	}
	raw, err := c.era.request(ctx, mcp.MethodGetSkill, params, rpc.RequestOptions{Timeout: c.options.Timeout})
	if err != nil {
		return nil, err
	}
	var result mcp.GetSkillResult
	if err := c.decode(mcp.MethodGetSkill, raw, &result); err != nil {
		return nil, err
	}
	return &result.Skill, nil
}

// ReadDirectory returns what is in a directory: files, and directories by their media type mcp.MIMEDirectory. It is
// what the server has now, and never a reason to read of a skill what its entry does not list (skills, directory
// reads). A server that doesn't offer it is an ErrNoSkills. Other errors are as those of ListTools, and a
// *jsonrpc.Error with jsonrpc.CodeInvalidParams where there is no such directory.
func (c *Client) ReadDirectory(ctx context.Context, uri string) ([]mcp.Resource, error) {
	if declared, err := c.skills(); err != nil {
		return nil, err
	} else if !declared.DirectoryRead {
		return nil, fmt.Errorf("%s: %w: %s", c.options.Server, ErrNoSkills, mcp.MethodReadDirectory)
	}
	return walk(ctx, c, listing[mcp.Resource]{
		method: mcp.MethodReadDirectory, directory: uri, items: "resources",
		key: func(r *mcp.Resource) string { return r.URI },
	})
}

// skills returns what the server has declared of its skills, or ErrNoSkills.
func (c *Client) skills() (mcp.SkillsCapability, error) {
	var declared mcp.SkillsCapability
	settings := c.Server().Capabilities.Extensions[mcp.ExtensionSkills]
	if settings == nil {
		return declared, fmt.Errorf("%s: %w: %s", c.options.Server, ErrNoSkills, mcp.ExtensionSkills)
	}
	if err := mcp.Decode(settings, &declared); err != nil {
		c.log.Warn("what the server says of its skills can't be read", "error", err)
	}
	return declared, nil
}
