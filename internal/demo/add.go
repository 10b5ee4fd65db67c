package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// addTool is described by hand: the SDK's typed tools would read the numbers as float64 and lose digits.
var addTool = &mcp.Tool{
	Name:        "add",
	Description: "Adds two numbers. All digits count.",
	Annotations: readOnly,
	InputSchema: json.RawMessage(`{"type":"object","properties":{` +
		`"a":{"type":"number","description":"the first number"},` +
		`"b":{"type":"number","description":"the second number"}},` +
		`"required":["a","b"],"additionalProperties":false}`),
	OutputSchema: json.RawMessage(`{"type":"object","properties":{"sum":{"type":"number"}},"required":["sum"]}`),
}

func add(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	sum, err := addArguments(req.Params.Arguments)
	if err != nil {
		result := text(err.Error())
		result.IsError = true
		return result, nil
	}
	structured := `{"sum":` + sum + `}`
	result := text(structured)
	result.StructuredContent = json.RawMessage(structured)
	return result, nil
}

func addArguments(arguments []byte) (string, error) {
	var in struct {
		A jsontext.Value `json:"a"`
		B jsontext.Value `json:"b"`
	}
	if err := jsonv2.Unmarshal(arguments, &in); err != nil {
		return "", fmt.Errorf("the arguments are no object: %w", err)
	}
	if in.A.Kind() != '0' || in.B.Kind() != '0' {
		return "", errors.New("a and b must both be given, and be numbers")
	}
	return sum(string(in.A), string(in.B))
}

// sum adds exactly, except where a number has an exponent.
func sum(a, b string) (string, error) {
	if strings.ContainsAny(a+b, "eE") {
		x, errX := strconv.ParseFloat(a, 64)
		y, errY := strconv.ParseFloat(b, 64)
		if err := errors.Join(errX, errY); err != nil {
			return "", errors.New("a number is out of range")
		}
		return strconv.FormatFloat(x+y, 'g', -1, 64), nil
	}
	x, okX := new(big.Rat).SetString(a)
	y, okY := new(big.Rat).SetString(b)
	if !okX || !okY {
		return "", errors.New("that is no number")
	}
	return x.Add(x, y).FloatString(max(decimals(a), decimals(b))), nil
}

func decimals(number string) int {
	_, fraction, _ := strings.Cut(number, ".")
	return len(fraction)
}
