// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
)

// secret is in every log-in of these tests, and in no message.
const secret = "s3cr3t-0f-th3-t3st"

func file(entry string) string { return "clouds:\n  c:\n" + entry }

const byPassword = `
    region_name: R
    auth:
      auth_url: https://keystone.example.com:5000
      username: u
      password: ` + secret + `
      project_name: p
      user_domain_name: D
`

func TestParseClouds(t *testing.T) {
	t.Parallel()
	const url = "https://keystone.example.com:5000/v3/"
	password := func(change func(*gophercloud.AuthOptions)) gophercloud.AuthOptions {
		o := gophercloud.AuthOptions{
			IdentityEndpoint: url, Username: "u", Password: secret, DomainName: "D",
			Scope: &gophercloud.AuthScope{ProjectName: "p", DomainName: "D"},
		}
		change(&o)
		return o
	}
	unchanged := func(*gophercloud.AuthOptions) {}
	for name, test := range map[string]struct {
		yaml string
		want gophercloud.AuthOptions
	}{
		"password":   {byPassword, password(unchanged)},
		"v3password": {"    auth_type: v3password" + byPassword, password(unchanged)},
		"digits stay as they are written": {
			strings.ReplaceAll(byPassword, secret, "0123"), password(func(o *gophercloud.AuthOptions) { o.Password = "0123" }),
		},
		"a word of YAML is a password, too": {
			strings.ReplaceAll(byPassword, secret, "2001-01-01"), password(func(o *gophercloud.AuthOptions) { o.Password = "2001-01-01" }),
		},
		"ids win over names": {
			byPassword + "      user_id: U\n      project_id: P\n", password(func(o *gophercloud.AuthOptions) {
				o.UserID, o.Username, o.DomainName = "U", "", ""
				o.Scope = &gophercloud.AuthScope{ProjectID: "P"}
			}),
		},
		"one domain for both": {
			strings.ReplaceAll(byPassword, "user_domain_name", "domain_id"), password(func(o *gophercloud.AuthOptions) {
				o.DomainID, o.DomainName = "D", ""
				o.Scope = &gophercloud.AuthScope{ProjectName: "p", DomainID: "D"}
			}),
		},
		"another domain for the project": {
			byPassword + "      project_domain_id: E\n", password(func(o *gophercloud.AuthOptions) {
				o.Scope = &gophercloud.AuthScope{ProjectName: "p", DomainID: "E"}
			}),
		},
		"the URL has its version": {strings.ReplaceAll(byPassword, ":5000", ":5000/v3/"), password(unchanged)},
		"the URL has a path": {
			strings.ReplaceAll(byPassword, ":5000", "/identity"), password(func(o *gophercloud.AuthOptions) {
				o.IdentityEndpoint = "https://keystone.example.com/identity/v3/"
			}),
		},
		"files and what else is not needed": {
			byPassword + "    cacert: /etc/passwd\n    verify: true\n    compute_api_version: 2\n    networks: [{name: n}]\n", password(unchanged),
		},
		"application credential by id": {
			"    auth_type: v3applicationcredential\n    auth: {auth_url: '" + url + "', application_credential_id: i, application_credential_secret: " + secret + "}",
			gophercloud.AuthOptions{IdentityEndpoint: url, ApplicationCredentialID: "i", ApplicationCredentialSecret: secret},
		},
		"application credential by name": {
			"    auth: {auth_url: '" + url + "', application_credential_name: n, application_credential_secret: " + secret + ", username: u, user_domain_id: D}",
			gophercloud.AuthOptions{
				IdentityEndpoint: url, ApplicationCredentialName: "n", ApplicationCredentialSecret: secret, Username: "u", DomainID: "D",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ParseClouds([]byte(file(test.yaml)), nil, "c", "")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got.login().options); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseCloudsChoosesTheRegion(t *testing.T) {
	t.Parallel()
	for asked, want := range map[string]string{"": "R", "S": "S"} {
		got, err := ParseClouds([]byte(file(byPassword)), nil, "c", asked)
		if err != nil || got.login().region != want || got.login().endpoints != "public" {
			t.Errorf("region %q: %q, %q, %v", asked, got.login().region, got.login().endpoints, err)
		}
	}
	got, err := ParseClouds([]byte(file(byPassword+"    endpoint_type: internal\n")), nil, "c", "")
	if err != nil || got.login().endpoints != "internal" {
		t.Errorf("%v, %v", got, err)
	}
}

func TestParseCloudsRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ yaml, want string }{
		"no YAML":                  {"clouds: [" + secret, "is not the YAML"},
		"a list":                   {"clouds: [" + secret + "]", "is not the YAML"},
		"another cloud":            {"clouds: {d: {}}", "clouds.c: is missing"},
		"an alias of nothing":      {"clouds: {c: {auth: {password: *" + secret + "}}}", "is not the YAML"},
		"a password without space": {"clouds: {c: {auth: {password:" + secret + "}}}", "clouds.c.auth: has an unknown field"},
		"a map for a password":     {"clouds: {c: {auth: {password: {" + secret + ": 1}}}}", "clouds.c: has a value of the wrong type (line 1)"},
		"a text for auth":          {"clouds: {c: {auth: " + secret + "}}", "wrong type"},
		"no auth":                  {file("    region_name: R"), "clouds.c.auth: required"},
		"a type that is a secret":  {file("    auth_type: " + secret + byPassword), "clouds.c.auth_type: must be password"},
		"tokens":                   {file("    auth_type: v3token" + byPassword), "clouds.c.auth_type"},
		"OpenID":                   {file("    auth_type: v3oidcpassword" + byPassword), "clouds.c.auth_type"},
		"a client certificate":     {file("    cert: /x\n" + byPassword[1:]), "clouds.c.cert"},
		"a client's key":           {file("    key: /x\n" + byPassword[1:]), "clouds.c.key"},
		"a profile":                {file("    profile: x\n" + byPassword[1:]), "clouds.c.profile"},
		"no verification":          {file("    verify: False\n" + byPassword[1:]), "clouds.c.verify: must be true"},
		"version 2":                {file("    identity_api_version: '2.0'\n" + byPassword[1:]), "clouds.c.identity_api_version"},
		"an unknown interface":     {file("    interface: all\n" + byPassword[1:]), "clouds.c.interface"},
		"a trust":                  {file(byPassword + "      trust_id: x\n"), "clouds.c.auth: has an unknown field"},
		"no URL":                   {strings.ReplaceAll(file(byPassword), "auth_url", "domain_id"), "clouds.c.auth.auth_url: must be"},
		"a URL with a password":    {strings.ReplaceAll(file(byPassword), "https://", "https://u:"+secret+"@"), "clouds.c.auth.auth_url: must be"},
		"a URL of version 2":       {strings.ReplaceAll(file(byPassword), ":5000", ":5000/v2.0"), "clouds.c.auth.auth_url: must be"},
		"a file's URL":             {strings.ReplaceAll(file(byPassword), "https:", "file:"), "clouds.c.auth.auth_url: must be"},
		"no password":              {strings.ReplaceAll(file(byPassword), "password", "domain_id"), "clouds.c.auth.password: required"},
		"no user":                  {strings.ReplaceAll(file(byPassword), "username", "domain_id"), "clouds.c.auth.username: required"},
		"no domain for a project":  {strings.ReplaceAll(file(byPassword), "user_domain_name", "user_id"), "clouds.c.auth.project_domain_name: required"},
		"a password twice":         {strings.ReplaceAll(file(byPassword), "user_domain_name: D", "password: "+secret), "wrong type (line 10)"},
		"no domain for a name":     {strings.ReplaceAll(file(byPassword), "user_domain_name: D", ""), "clouds.c.auth.user_domain_name: required"},
		"no project":               {strings.ReplaceAll(file(byPassword), "project_name", "domain_id"), "clouds.c.auth.project_name: required"},
		"a credential's secret": {
			file("    auth_type: v3applicationcredential\n    auth: {auth_url: 'https://k', application_credential_id: i, password: " + secret + "}"),
			"clouds.c.auth.application_credential_secret: required",
		},
		"a credential's user": {
			file("    auth: {auth_url: 'https://k', application_credential_name: i, application_credential_secret: " + secret + "}"),
			"clouds.c.auth.username: required",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ParseClouds([]byte(test.yaml), nil, "c", "")
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("the secret is in the error: %v", err)
			}
		})
	}
}

func TestParseCloudsRefusesOtherArguments(t *testing.T) {
	t.Parallel()
	if _, err := ParseClouds([]byte(file(byPassword)), []byte(" \n"), "c", ""); err != nil {
		t.Errorf("a blank cacert: %v", err)
	}
	if _, err := ParseClouds([]byte(file(byPassword)), []byte("no certificate"), "c", ""); err == nil || !strings.HasPrefix(err.Error(), "cacert:") {
		t.Error(err)
	}
	if _, err := ParseClouds([]byte(file(byPassword)), nil, "", ""); err == nil || !strings.HasPrefix(err.Error(), "cloudName:") {
		t.Error(err)
	}
}

func TestCredentialsArePrintedWithoutSecrets(t *testing.T) {
	t.Parallel()
	c, err := ParseClouds([]byte(file(byPassword)), nil, "c", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		enclosed := struct{ Credentials Credentials }{c}
		hidden := struct{ c Credentials }{c}
		for _, value := range []any{c, &c, enclosed, &enclosed, hidden, []Credentials{c}} {
			if text := fmt.Sprintf(format, value); strings.Contains(text, secret) {
				t.Errorf("%s of %T: %s", format, value, text)
			}
		}
	}
}

// FuzzParseClouds breaks a file somewhere: whatever is wrong with it, its secret is in no error.
func FuzzParseClouds(f *testing.F) {
	f.Add(0, 0, ":")
	f.Add(40, 3, "*")
	f.Add(120, 1, "{")
	f.Add(130, 2, "\t[&")
	f.Add(150, 0, "!!int ")
	f.Fuzz(func(t *testing.T, at, gone int, put string) {
		text := file(byPassword)
		from := min(max(at, 0), len(text))
		to := min(max(from+gone, from), len(text))
		whole := secret
		// The secret itself must stay whole, or there is nothing to look for.
		broken := text[:from] + put + text[to:]
		if !strings.Contains(broken, whole) {
			return
		}
		if _, err := ParseClouds([]byte(broken), nil, "c", ""); err != nil && strings.Contains(err.Error(), whole) {
			t.Errorf("%q: %v", broken, err)
		}
	})
}
