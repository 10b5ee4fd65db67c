package auth_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpwire/auth"
)

func TestARefreshTokenIsKeptIfNoOtherIsGiven(t *testing.T) {
	f := newFake(t)
	f.keeps = true
	u := f.connect(t, auth.Options{})
	f.keep(t, u, func(l *auth.Login) { l.RefreshToken = "refresh-token-0" })
	for range 3 {
		f.expire()
		u.call()
	}
	all := f.asked("as /o/token")
	if len(all) != 3 {
		t.Errorf("%d refreshes", len(all))
	}
	for _, s := range all {
		if s.form.Get("refresh_token") != "refresh-token-0" {
			t.Errorf("refreshed with %v", s.form)
		}
	}
}

func TestFormsOfExpiresIn(t *testing.T) {
	const never = 100 * 365 * 24 * time.Hour
	for name, tt := range map[string]struct {
		raw    string
		life   time.Duration // -1: not known
		warned bool
	}{
		"missing":        {``, -1, false},
		"null":           {`null`, -1, false},
		"a number":       {`3600`, time.Hour, false},
		"a text":         {`"3600"`, time.Hour, false},
		"a text, spaced": {`" 3600 "`, time.Hour, false},
		"a fraction":     {`3600.5`, time.Hour, false},
		"an exponent":    {`3.6e3`, time.Hour, false},
		"nothing":        {`0`, 0, false},
		"nothing, text":  {`"0"`, 0, false},
		"below nothing":  {`-3600`, 0, false},
		"huge":           {`1e18`, never, false},
		"beyond numbers": {`1e999`, -1, true},
		"an empty text":  {`""`, -1, false},
		"garbage":        {`"soon"`, -1, true},
		"not a number":   {`"NaN"`, -1, true},
		"a list":         {`[3600]`, -1, true},
		"an object":      {`{"seconds":3600}`, -1, true},
		"a truth":        {`true`, -1, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			u := f.connect(t, auth.Options{})
			f.keep(t, u, expired)
			f.answer("as /o/token", func(w http.ResponseWriter, _ *http.Request) {
				text := `{"access_token":"access-token-0","token_type":"bearer"`
				if tt.raw != "" {
					text += `,"expires_in":` + tt.raw
				}
				_, _ = w.Write([]byte(text + "}"))
			})
			before := time.Now()
			u.call()
			l := u.kept()
			switch {
			case tt.life < 0:
				if !l.Expires.IsZero() {
					t.Errorf("expires in %v", l.Expires.Sub(before))
				}
			case l.Expires.IsZero(), l.Expires.Sub(before) < tt.life, l.Expires.Sub(before) > tt.life+time.Minute:
				t.Errorf("expires in %v, %v", l.Expires.Sub(before), l.Expires)
			}
			if warned := strings.Contains(u.log.String(), "expires_in"); warned != tt.warned {
				t.Errorf("the log says %s", u.log)
			}
			u.call() // what has expired already is refreshed at each request
			want := 1
			if tt.life == 0 {
				want = 2
			}
			if got := len(f.asked("as /o/token")); got != want {
				t.Errorf("%d refreshes", got)
			}
		})
	}
}

func TestAnswersOfTokenEndpoints(t *testing.T) {
	const token = `"access_token":"access-token-0"`
	had := []string{"one", "two"}
	for name, tt := range map[string]struct {
		status int
		answer string
		scopes []string // nil: the answer is refused
		says   string
	}{
		"no scope":             {200, `{` + token + `}`, had, ""},
		"the scope is empty":   {200, `{` + token + `,"scope":""}`, had, ""},
		"the scope is null":    {200, `{` + token + `,"scope":null}`, had, ""},
		"another scope":        {200, `{` + token + `,"scope":"one"}`, []string{"one"}, ""},
		"scopes with commas":   {200, `{` + token + `,"scope":"one,three"}`, []string{"one", "three"}, ""},
		"a list of scopes":     {200, `{` + token + `,"scope":["one","three"]}`, []string{"one", "three"}, ""},
		"an odd scope":         {200, `{` + token + `,"scope":{"a":1}}`, had, ""},
		"no refresh token":     {200, `{` + token + `,"refresh_token":null}`, had, ""},
		"an odd status":        {201, `{` + token + `}`, had, ""},
		"a form":               {200, `access_token=access-token-0&scope=one&token_type=bearer`, []string{"one"}, ""},
		"a mark":               {200, "\ufeff{" + token + `}`, had, ""},
		"the type in capitals": {200, `{` + token + `,"token_type":"BEARER"}`, had, ""},
		"another type":         {200, `{` + token + `,"token_type":"mac"}`, nil, `"mac"`},
		"200 with an error":    {200, `{"error":"temporarily_unavailable","error_description":"wait"}`, nil, "temporarily_unavailable (wait)"},
		"a form with an error": {200, `error=slow_down`, nil, "slow_down"},
		"no token":             {200, `{"refresh_token":"r3fresh-r3fresh"}`, nil, "no usable access_token"},
		"a token in parts":     {200, `{"access_token":"a\r\nX-Evil: 1"}`, nil, "no usable access_token"},
		"a list":               {200, `["hidden-hidden"]`, nil, "no access_token"},
		"a page":               {200, `<html>hidden-hidden`, nil, "no access_token"},
		"nothing":              {200, ``, nil, "no access_token"},
		"a number as token":    {200, `{"access_token":12345678}`, nil, "no access_token"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			u := f.connect(t, auth.Options{})
			f.keep(t, u, func(l *auth.Login) {
				expired(l)
				l.Scopes = had
			})
			f.answer("as /o/token", func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tt.status)
				_, _ = w.Write([]byte(tt.answer))
			})
			if tt.scopes != nil {
				u.call()
				if l := u.kept(); !slices.Equal(l.Scopes, tt.scopes) || l.RefreshToken != "refresh-token-0" {
					t.Errorf("the store holds %+v", l)
				}
				return
			}
			_, err := u.do(t.Context(), http.MethodPost, "hello")
			if err == nil || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "hidden") ||
				strings.Contains(err.Error(), "r3fresh") {
				t.Errorf("got %v", err)
			}
			if u.kept().RefreshToken != "refresh-token-0" {
				t.Errorf("the store holds %+v", u.kept())
			}
		})
	}
}

func TestALogoutGivesTheTokensBack(t *testing.T) {
	f := newFake(t)
	u := f.connect(t, auth.Options{})
	if err := u.login(&person{}); err != nil {
		t.Fatal(err)
	}
	token := u.kept().RefreshToken
	was, err := u.client.Logout(t.Context())
	if err != nil || !was.LoggedIn || was.Issuer != f.issuer {
		t.Errorf("got %+v, %v", was, err)
	}
	if s := f.asked("as /o/revoke"); len(s) != 1 || s[0].form.Get("token") != token {
		t.Errorf("gave back %+v", s)
	}
	if u.kept().AccessToken != "" {
		t.Errorf("the store holds %+v", u.kept())
	}
	u.refused(t.Context())
}

func TestALogoutForgetsTheTokensThoughTheyAreNotTakenBack(t *testing.T) {
	f := newFake(t)
	u := f.connect(t, auth.Options{})
	if err := u.login(&person{}); err != nil {
		t.Fatal(err)
	}
	f.answer("as /o/revoke", status(http.StatusServiceUnavailable))
	if _, err := u.client.Logout(t.Context()); err == nil || !strings.Contains(err.Error(), "HTTP 503") {
		t.Errorf("got %v", err)
	}
	if u.kept().AccessToken != "" {
		t.Errorf("the store holds %+v", u.kept())
	}
}
