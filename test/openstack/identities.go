// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"fmt"
	"net/http"
)

// makeIdentities makes what Keystone's bootstrap has not: projects and users of members, and Neutron's place in the catalog.
func (c *Cloud) makeIdentities(ctx context.Context) error {
	var err error
	if c.admin, err = logIn(ctx, c.keystoneURL, Admin); err != nil {
		return err
	}
	var roles struct{ Roles []struct{ ID string } }
	if err = c.admin.do(ctx, http.MethodGet, c.keystoneURL+"/roles?name=member", nil, &roles); err != nil {
		return err
	}
	if len(roles.Roles) != 1 {
		return fmt.Errorf("keystone has %d roles named member", len(roles.Roles))
	}
	for _, name := range []string{Member, Other} {
		if err = c.makeMember(ctx, name, roles.Roles[0].ID); err != nil {
			return err
		}
	}
	service, err := c.admin.create(ctx, c.keystoneURL+"/services", "service", object{"name": "neutron", "type": "network"})
	if err != nil {
		return err
	}
	endpoint := object{"service_id": service, "interface": "public", "region_id": Region, "url": c.neutronURL}
	if _, err = c.admin.create(ctx, c.keystoneURL+"/endpoints", "endpoint", endpoint); err != nil {
		return err
	}
	c.member, err = logIn(ctx, c.keystoneURL, Member)
	return err
}

// makeMember makes a project and its user, with that role.
func (c *Cloud) makeMember(ctx context.Context, name, role string) error {
	project, err := c.admin.create(ctx, c.keystoneURL+"/projects", "project", object{"name": name, "domain_id": "default"})
	if err != nil {
		return err
	}
	user, err := c.admin.create(ctx, c.keystoneURL+"/users", "user",
		object{"name": name, "password": Password(name), "domain_id": "default"})
	if err != nil {
		return err
	}
	return c.admin.do(ctx, http.MethodPut, fmt.Sprintf("%s/projects/%s/users/%s/roles/%s", c.keystoneURL, project, user, role), nil, nil)
}

// ApplicationCredential makes an application credential of the member and returns its id.
func (c *Cloud) ApplicationCredential(ctx context.Context, name, secret string) (id string, err error) {
	return c.member.create(ctx, fmt.Sprintf("%s/users/%s/application_credentials", c.keystoneURL, c.member.user),
		"application_credential", object{"name": name, "secret": secret})
}
