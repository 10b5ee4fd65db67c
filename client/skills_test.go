package client_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"mcpwire/client"
	"mcpwire/jsonrpc"
	"mcpwire/mcp"
)

const skillEntry = `{"uri":"skill://a/SKILL.md","frontmatter":{"name":"a","description":"d","n":1.0},` +
	`"resources":[{"uri":"skill://a/SKILL.md","digest":"sha256:00","size":2}]}`

// withSkills is a server that declares the skills extension with these settings, and answers by method.
func withSkills(settings string, answers map[string]string) *fake {
	f := &fake{
		initialize: strings.Replace(initialized, `"tools"`, `"extensions":{"io.modelcontextprotocol/skills":`+settings+`},"tools"`, 1),
		answers:    map[string]func(jsonrpc.Message) string{},
	}
	for method, result := range answers {
		f.answers[method] = func(request jsonrpc.Message) string {
			if strings.Contains(string(request.Params), `"cursor":"2"`) {
				return string(jsonrpc.AppendResult(nil, request.ID, json.RawMessage(`{"skills":[],"resources":[]}`)))
			}
			return string(jsonrpc.AppendResult(nil, request.ID, json.RawMessage(result)))
		}
	}
	return f
}

func TestSkillsAreListedAndDescribed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := withSkills(`{"directoryRead":true}`, map[string]string{
			"skills/list": `{"skills":[` + skillEntry + `,{"uri":"skill://b/SKILL.md","frontmatter":{},"resources":"dynamic"},` +
				`{"uri":"skill://c/SKILL.md","resources":"static"}],"nextCursor":"2"}`,
			"skills/get":               `{"skill":` + skillEntry + `,"ttlMs":1,"cacheScope":"public"}`,
			"resources/directory/read": `{"resources":[{"uri":"skill://a/x","name":"x","mimeType":"inode/directory"}],"nextCursor":"2"}`,
		})
		c := connect(t, f, client.Options{})
		defer closeClient(t, c)
		all, err := c.ListSkills(t.Context())
		if err != nil || len(all) != 2 || encoded(t, all[0]) != skillEntry || !all[1].Resources.Dynamic {
			t.Errorf("listed %s, %v", encoded(t, all), err)
		}
		skill, err := c.GetSkill(t.Context(), "skill://a/SKILL.md")
		if err != nil || encoded(t, skill) != skillEntry {
			t.Errorf("got %s, %v", encoded(t, skill), err)
		}
		files, err := c.ReadDirectory(t.Context(), "skill://a")
		if err != nil || len(files) != 1 || files[0].MIMEType != mcp.MIMEDirectory {
			t.Errorf("read %s, %v", encoded(t, files), err)
		}
		sent := strings.Join(f.seen, "\n")
		for _, params := range []string{
			`"skills/list"}`, `"skills/list","params":{"cursor":"2"}`, `"skills/get","params":{"uri":"skill://a/SKILL.md"}`,
			`"resources/directory/read","params":{"uri":"skill://a"}`,
			`"resources/directory/read","params":{"uri":"skill://a","cursor":"2"}`,
		} {
			if !strings.Contains(sent, params) {
				t.Errorf("no %s in\n%s", params, sent)
			}
		}
		if strings.Contains(sent, "resources/read") {
			t.Errorf("something was read:\n%s", sent)
		}
	})
}

// 2026-07-28, skills extension, capability negotiation: only after the server's declaration.
func TestAServerIsNotAskedForSkillsThatItHasNotDeclared(t *testing.T) {
	for settings, declared := range map[string]bool{`{}`: true, `[]`: true, `null`: false} {
		synctest.Test(t, func(t *testing.T) {
			f := withSkills(settings, map[string]string{"skills/get": `{"skill":` + skillEntry + `}`, "skills/list": `{"skills":[]}`})
			c := connect(t, f, client.Options{})
			defer closeClient(t, c)
			if all, err := c.ListSkills(t.Context()); err != nil || len(all) != 0 {
				t.Errorf("%s: listed %v, %v", settings, all, err)
			}
			if _, err := c.GetSkill(t.Context(), "skill://a/SKILL.md"); errors.Is(err, client.ErrNoSkills) == declared {
				t.Errorf("%s: got %v", settings, err)
			}
			if _, err := c.ReadDirectory(t.Context(), "skill://a"); !errors.Is(err, client.ErrNoSkills) {
				t.Errorf("%s: read %v", settings, err)
			}
			if sent := strings.Join(f.seen, "\n"); strings.Contains(sent, "skills/") != declared {
				t.Errorf("%s: sent\n%s", settings, sent)
			}
		})
	}
}
