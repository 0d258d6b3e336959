// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"bytes"
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"go.yaml.in/yaml/v3"
)

// Credentials say how to log in to one cloud, as one project. Make them with ParseClouds; the zero value is of no use.
type Credentials struct {
	// login is behind a function: printing an enclosing value follows pointers, past String, and would show secrets.
	login func() *login
}

type login struct {
	options gophercloud.AuthOptions
	// region is empty where the cloud's only one is meant.
	region string
	// endpoints is which of the catalog's endpoints are used: public, internal or admin.
	endpoints string
	cacert    []byte
}

// String returns the cloud's log-in URL and the user or credential, never a secret.
func (c Credentials) String() string {
	if c.login == nil {
		return "no credentials"
	}
	o := c.login().options
	return fmt.Sprintf("credentials of %s at %s",
		cmp.Or(o.ApplicationCredentialID, o.ApplicationCredentialName, o.UserID, o.Username), o.IdentityEndpoint)
}

// GoString is String.
func (c Credentials) GoString() string { return c.String() }

// secrets are the texts that no message may contain.
func (l *login) secrets() []string {
	return slices.DeleteFunc([]string{l.options.Password, l.options.ApplicationCredentialSecret}, func(s string) bool { return s == "" })
}

// cloud is one entry of clouds.yaml. The YAML library gives a scalar as it is written: a password of digits stays what it is.
type cloud struct {
	AuthType           string            `yaml:"auth_type"`
	Auth               map[string]string `yaml:"auth"`
	RegionName         string            `yaml:"region_name"`
	Interface          string            `yaml:"interface"`
	EndpointType       string            `yaml:"endpoint_type"`
	Verify             string            `yaml:"verify"`
	IdentityAPIVersion string            `yaml:"identity_api_version"`
	Cert               string            `yaml:"cert"`
	Key                string            `yaml:"key"`
	Profile            string            `yaml:"profile"`
	// Cloud is the old name of profile.
	Cloud string `yaml:"cloud"`
}

// ParseClouds reads the entry clouds.<cloudName> of a clouds.yaml.
//
// A region that is not empty wins over region_name; without both, the cloud must have one region. Without interface (or its old
// name endpoint_type) the public endpoints are used. cacert holds PEM certificates, trusted besides
// the system's; it may be empty or blank.
//
// auth_type password, v3password and v3applicationcredential are understood; without auth_type the fields decide. An application
// credential is given by id and secret, or by name, user and secret. domain_id and domain_name stand in for the user's and the
// project's domain. An id wins over a name. The project of an application credential is its own: project fields beside one are ignored.
//
// Nothing but these bytes is read. A path in cacert is ignored. cert and key (client certificates), profile and cloud (files of
// vendors), verify: false and unknown fields of auth are refused by their path, and so is what is missing. Other fields are ignored.
// Errors name paths and lines, and never values.
func ParseClouds(cloudsYAML, cacert []byte, cloudName, region string) (Credentials, error) {
	entry, err := findCloud(cloudsYAML, cloudName)
	if err != nil {
		return Credentials{}, err
	}
	path := "clouds." + cloudName
	if err = entry.check(path); err != nil {
		return Credentials{}, err
	}
	options, err := entry.options(path)
	if err != nil {
		return Credentials{}, err
	}
	cacert = bytes.TrimSpace(cacert) // CAPO's scripts write a line feed where there is none
	if len(cacert) > 0 && !x509.NewCertPool().AppendCertsFromPEM(cacert) {
		return Credentials{}, errors.New("cacert: must have at least one PEM certificate")
	}
	parsed := &login{
		options:   options,
		region:    cmp.Or(region, entry.RegionName),
		endpoints: cmp.Or(entry.Interface, entry.EndpointType, "public"),
		cacert:    slices.Clone(cacert),
	}
	return Credentials{func() *login { return parsed }}, nil
}

func findCloud(cloudsYAML []byte, name string) (cloud, error) {
	var file struct {
		Clouds map[string]yaml.Node `yaml:"clouds"`
	}
	if name == "" {
		return cloud{}, errors.New("cloudName: required")
	}
	if err := yaml.Unmarshal(cloudsYAML, &file); err != nil {
		return cloud{}, fmt.Errorf("clouds.yaml: is not the YAML of a map clouds%s", lineOf(err))
	}
	node, ok := file.Clouds[name]
	if !ok {
		return cloud{}, fmt.Errorf("clouds.%s: is missing in clouds.yaml", name)
	}
	var entry cloud
	if err := node.Decode(&entry); err != nil {
		return cloud{}, fmt.Errorf("clouds.%s: has a value of the wrong type%s", name, lineOf(err))
	}
	return entry, nil
}

var line = regexp.MustCompile(`line \d+`)

// lineOf returns the first line number of a parser's message: the message itself may quote the file, and so a secret.
func lineOf(err error) string {
	if found := line.FindString(err.Error()); found != "" {
		return " (" + found + ")"
	}
	return ""
}

const supportedTypes = "must be password, v3password or v3applicationcredential"

// check refuses what would change the meaning of the log-in and is not supported.
func (c cloud) check(path string) error {
	for _, field := range []struct {
		name    string
		refused bool
		problem string
	}{
		{"auth", len(c.Auth) == 0, "required"},
		{"auth_type", !slices.Contains(passwordTypes, c.AuthType) && c.AuthType != credentialType, supportedTypes},
		{"cert", c.Cert != "", "client certificates are not supported"},
		{"key", c.Key != "", "client certificates are not supported"},
		{"profile", c.Profile != "", "profiles of vendors are not read; write the fields out"},
		{"cloud", c.Cloud != "", "profiles of vendors are not read; write the fields out"},
		{"verify", strings.EqualFold(c.Verify, "false"), "must be true; give the certificate as cacert of the Secret"},
		{"identity_api_version", c.IdentityAPIVersion != "" && !strings.HasPrefix(c.IdentityAPIVersion, "3"), "must be 3"},
		{"interface", !slices.Contains(interfaces, cmp.Or(c.Interface, c.EndpointType)), "must be public, internal or admin"},
	} {
		if field.refused {
			return fmt.Errorf("%s.%s: %s", path, field.name, field.problem)
		}
	}
	for name := range c.Auth {
		if !slices.Contains(authFields, name) {
			return fmt.Errorf("%s.auth: has an unknown field; known are %s", path, strings.Join(authFields, ", "))
		}
	}
	return nil
}

const credentialType = "v3applicationcredential"

var (
	// passwordTypes, and no type, also allow for an application credential: such files are common.
	passwordTypes = []string{"", "password", "v3password"}
	interfaces    = []string{"", "public", "internal", "admin"}
	authFields    = []string{
		"auth_url", "username", "user_id", "password", "user_domain_id", "user_domain_name", "domain_id", "domain_name",
		"project_id", "project_name", "project_domain_id", "project_domain_name",
		"application_credential_id", "application_credential_name", "application_credential_secret",
	}
)

func (c cloud) auth(name string) string { return c.Auth[name] }

func (c cloud) options(path string) (gophercloud.AuthOptions, error) {
	var o gophercloud.AuthOptions
	endpoint, err := identityURL(c.auth("auth_url"))
	if err != nil {
		return o, fmt.Errorf("%s.auth.auth_url: %w", path, err)
	}
	o.IdentityEndpoint = endpoint
	if o.UserID = c.auth("user_id"); o.UserID == "" {
		o.Username = c.auth("username")
		o.DomainID, o.DomainName = c.domain("user_domain")
	}
	required := c.passwordFields
	if c.AuthType == credentialType || c.auth("application_credential_id")+c.auth("application_credential_name") != "" {
		required = c.credentialFields
	}
	if missing := required(&o); missing != "" {
		return o, fmt.Errorf("%s.auth.%s: required", path, missing)
	}
	return o, nil
}

// domain returns the id or the name of a domain, whichever is given, the more special first.
func (c cloud) domain(prefix string) (id, name string) {
	for _, p := range []string{prefix, "domain"} {
		if id := c.auth(p + "_id"); id != "" {
			return id, ""
		}
		if name := c.auth(p + "_name"); name != "" {
			return "", name
		}
	}
	return "", ""
}

// passwordFields sets a log-in by password and returns the first field that is missing.
func (c cloud) passwordFields(o *gophercloud.AuthOptions) (missing string) {
	o.Password = c.auth("password")
	scope := &gophercloud.AuthScope{ProjectID: c.auth("project_id")}
	if scope.ProjectID == "" {
		scope.ProjectName = c.auth("project_name")
		scope.DomainID, scope.DomainName = c.domain("project_domain")
		if scope.DomainID+scope.DomainName == "" {
			scope.DomainID, scope.DomainName = c.domain("user_domain")
		}
	}
	o.Scope = scope
	return firstMissing(
		need{"password", o.Password},
		need{"username", o.UserID + o.Username},
		need{"user_domain_name", o.UserID + o.DomainID + o.DomainName},
		need{"project_name", scope.ProjectID + scope.ProjectName},
		need{"project_domain_name", scope.ProjectID + scope.DomainID + scope.DomainName},
	)
}

// credentialFields sets a log-in by application credential and returns the first field that is missing.
func (c cloud) credentialFields(o *gophercloud.AuthOptions) (missing string) {
	o.ApplicationCredentialID = c.auth("application_credential_id")
	o.ApplicationCredentialName = c.auth("application_credential_name")
	o.ApplicationCredentialSecret = c.auth("application_credential_secret")
	byID := o.ApplicationCredentialID
	return firstMissing(
		need{"application_credential_id", byID + o.ApplicationCredentialName},
		need{"application_credential_secret", o.ApplicationCredentialSecret},
		need{"username", byID + o.UserID + o.Username},
		need{"user_domain_name", byID + o.UserID + o.DomainID + o.DomainName},
	)
}

type need struct{ field, value string }

func firstMissing(needs ...need) string {
	for _, n := range needs {
		if n.value == "" {
			return n.field
		}
	}
	return ""
}

var errIdentityURL = errors.New("must be the URL of Keystone v3, https://host[:port][/path], without user, query and fragment")

// identityURL returns Keystone's base URL with /v3/ at its end, which an auth_url may lack.
func identityURL(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || !isPlain(u) {
		return "", errIdentityURL
	}
	trimmed := strings.TrimRight(u.String(), "/")
	switch {
	case strings.HasSuffix(trimmed, "/v2.0"):
		return "", errIdentityURL
	case strings.HasSuffix(trimmed, "/v3"):
		return trimmed + "/", nil
	}
	return trimmed + "/v3/", nil
}

// isPlain says whether a URL is one of HTTP, with a host and, after that, nothing but a path.
func isPlain(u *url.URL) bool {
	isHTTP := u.Scheme == "https" || u.Scheme == "http"
	return isHTTP && u.Hostname() != "" && u.User == nil && u.RawQuery == "" && u.Fragment == "" && u.Opaque == ""
}
