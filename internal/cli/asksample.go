package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"mcpwire/mcp"
	"mcpwire/rpc"
)

// refusedSampling is what a server is told whose question to a model is refused (2025-11-25, sampling, error handling).
var refusedSampling = &rpc.Refusal{Code: -1, Message: "User rejected sampling request"}

// personModel is the name of the model where a person has written its answer.
const personModel = "a person at mcpwire"

// sample answers a question to a model.
func (k *asker) sample(
	ctx context.Context, server string, p *mcp.CreateMessageParams,
) (*mcp.CreateMessageResult, error) {
	k.note(server, "asks for a model's answer", sampledText(p))
	if prepared := k.answers.sampling(server, p); prepared != nil {
		return prepared.sampled()
	}
	ctx, done, ok := k.asked(ctx)
	defer done()
	if k.person == nil || !ok {
		k.miss(server, "asks for a model's answer, and nobody is here to give one", sampledText(p))
		return nil, refusedSampling
	}
	var text string
	err := k.person.talk(ctx, func(d *dialog) (err error) {
		text, err = d.write(server, p)
		return err
	})
	if err != nil {
		return nil, refusedSampling
	}
	return message(text, personModel), nil
}

func message(text, model string) *mcp.CreateMessageResult {
	return &mcp.CreateMessageResult{
		Role: mcp.RoleAssistant, Content: mcp.Blocks{mcp.Text(text)}, Model: model, StopReason: mcp.StopEndTurn,
	}
}

// sampledText is what the messages to a model say.
func sampledText(p *mcp.CreateMessageParams) string {
	var texts []string
	for i := range p.Messages {
		for j := range p.Messages[i].Content {
			texts = append(texts, contentText(&p.Messages[i].Content[j]))
		}
	}
	return strings.Join(texts, "\n")
}

// write shows what a model is asked, and has somebody write the answer.
func (d *dialog) write(server string, p *mcp.CreateMessageParams) (string, error) {
	lines := []string{d.console.bold(visible(server)) + " asks for a model's answer, and you may write it:"}
	if p.SystemPrompt != "" {
		lines = append(append(lines, "system prompt:"), said(p.SystemPrompt)...)
	}
	for i := range p.Messages {
		m := &p.Messages[i]
		lines = append(lines, brief(string(m.Role))+":")
		for j := range m.Content {
			lines = append(lines, said(contentText(&m.Content[j]))...)
		}
	}
	if p.MaxTokens > 0 {
		lines = append(lines, fmt.Sprintf("at most %.0f tokens are wanted", p.MaxTokens))
	}
	lines = append(lines, "The answer ends with a line that is one dot, or with Ctrl-D. An empty one refuses.")
	if err := d.tell(lines...); err != nil {
		return "", err
	}
	var written strings.Builder
	for {
		line, err := d.read(d.ctx, "> ")
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			return "", err
		case err == nil && line != ".":
			written.WriteString(line + "\n")
			continue
		}
		text := strings.TrimSuffix(written.String(), "\n")
		if strings.TrimSpace(text) == "" {
			return "", errDeclined
		}
		return text, nil
	}
}
