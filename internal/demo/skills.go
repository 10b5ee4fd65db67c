package demo

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	skillsExtension = "io.modelcontextprotocol/skills"
	skillURI        = "skill://counting/SKILL.md"
)

// skillFiles are the files of the one skill, its SKILL.md first.
var skillFiles = []struct{ uri, text string }{
	{skillURI, `---
name: counting
description: Counts something down, and says when it is done.
---

# Counting

Call the tool countdown with the seconds that it may take. Begin with the words of references/words.md.
`},
	{"skill://counting/references/words.md", "Ready, steady, go.\n"},
}

// A skill is an entry of skills/list, which the SDK does not know.
type skill struct {
	URI         string            `json:"uri"`
	Frontmatter map[string]string `json:"frontmatter"`
	Resources   []skillFile       `json:"resources"`
}

type skillFile struct {
	URI    string `json:"uri"`
	Digest string `json:"digest"`
	Size   int    `json:"size"`
}

type skillParams struct {
	mcp.ParamsBase
	URI string `json:"uri"`
}

type skillsResult struct {
	mcp.ResultBase
	caching
	Skills []skill `json:"skills"`
}

type skillResult struct {
	mcp.ResultBase
	caching
	Skill skill `json:"skill"`
}

// caching says that a result is good for now, and for everybody.
type caching struct {
	ResultType string `json:"resultType"`
	TTLMs      int    `json:"ttlMs"`
	CacheScope string `json:"cacheScope"`
}

var complete = caching{ResultType: "complete", CacheScope: "public"}

// counting returns the entry of the skill.
func counting() skill {
	s := skill{URI: skillURI, Frontmatter: map[string]string{
		"name": "counting", "description": "Counts something down, and says when it is done.",
	}}
	for _, f := range skillFiles {
		digest := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(f.text)))
		s.Resources = append(s.Resources, skillFile{f.uri, digest, len(f.text)})
	}
	return s
}

func listSkills(context.Context, *mcp.ServerSession, *skillParams) (*skillsResult, error) {
	return &skillsResult{caching: complete, Skills: []skill{counting()}}, nil
}

func getSkill(_ context.Context, _ *mcp.ServerSession, p *skillParams) (*skillResult, error) {
	if p.URI != skillURI {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("no skill is served at %q", p.URI)}
	}
	return &skillResult{caching: complete, Skill: counting()}, nil
}

func addSkills(s *mcp.Server) {
	for _, f := range skillFiles {
		name := f.uri[strings.LastIndex(f.uri, "/")+1:]
		s.AddResource(&mcp.Resource{
			URI: f.uri, Name: name, MIMEType: "text/markdown", Description: "Part of the skill counting.",
		}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return contents(&mcp.ResourceContents{URI: f.uri, MIMEType: "text/markdown", Text: f.text})
		})
	}
	err := mcp.AddReceivingCustomMethod(s, "skills/list", listSkills)
	if err == nil {
		err = mcp.AddReceivingCustomMethod(s, "skills/get", getSkill)
	}
	if err != nil {
		panic(err) // the methods have become the SDK's own
	}
}
