package doctor

import (
	"errors"
	"fmt"

	"mcpwire/auth"
)

// grantSteps are the parts of the way to a machine's token, in their order.
var grantSteps = []auth.Step{
	auth.StepDiscovery, auth.StepCredentials, auth.StepExchange, auth.StepToken, auth.StepUse,
}

// grantFault returns why a machine has no token; nil if that is not what is wrong.
func (f *facts) grantFault() *auth.GrantError {
	fault, _ := errors.AsType[*auth.GrantError](f.err)
	return fault
}

// grant tells how far a machine has come on the way to its token, and what to change.
func (s *Step) grant(fault *auth.GrantError) {
	for _, step := range grantSteps {
		if step == fault.Step {
			break
		}
		if step != auth.StepExchange || fault.Grant == auth.Enterprise {
			s.Text += string(step) + " went well; "
		}
	}
	s.Text += fmt.Sprintf("%s failed", fault.Step)
	found := func(id, fix string) { s.find(Broken, id, fault.Error(), fix) }
	switch fault.Step {
	case auth.StepDiscovery:
		found("grant-discovery", `see that the server names its authorization server, or name it as "issuer" in the entry's `+
			`"auth"`)
	case auth.StepCredentials:
		found("grant-credentials", "see that it is there and still good, and that this user may read it")
	case auth.StepExchange:
		found("grant-exchange", exchangeFix(fault))
	case auth.StepUse:
		found("grant-use", "see that the authorization server gives tokens for this server, with the scopes that it wants")
	default:
		found("grant-token", tokenFix(fault))
	}
}

// refusal returns the code of an authorization server's refusal; empty if it was none.
func refusal(fault *auth.GrantError) string {
	if e, ok := errors.AsType[*auth.TokenError](fault); ok {
		return e.ErrorCode
	}
	return ""
}

func exchangeFix(fault *auth.GrantError) string {
	switch refusal(fault) {
	case "invalid_client":
		return `correct "clientId" and "clientSecret" in the entry's "idp"`
	case "invalid_grant", "invalid_request":
		return `have the person sign in again: the ID token must be new, and given to the client that the entry's "idp" names`
	case "access_denied", "invalid_target", "unauthorized_client", "invalid_scope":
		return "have the administrator of the identity provider allow this client that server, and those scopes"
	}
	return "see what it says, and whether it knows enterprise-managed authorization (ID-JAG)"
}

func tokenFix(fault *auth.GrantError) string {
	switch refusal(fault) {
	case "invalid_client":
		return `correct "clientId" and what proves it ("clientSecret" or "privateKey") in the entry's "auth"`
	case "invalid_grant":
		return "have the authorization server trust who has signed the assertion, and see to its audience and age"
	case "invalid_scope":
		return `correct "scopes" in the entry's "auth"`
	case "unauthorized_client", "unsupported_grant_type":
		return fmt.Sprintf("have the authorization server allow the client the grant %s", fault.Grant)
	case "invalid_target":
		return "have the authorization server know the address of this server"
	}
	return "see what it says"
}
