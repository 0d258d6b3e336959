// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
)

// shape is how the machines of an infrastructure provider come to addresses. The files of testdata begin with its name: its pools, a Cluster,
// and what is applied over that.
type shape struct {
	// name is also that of namespace and Cluster.
	name string
	// machine is the kind of its machines.
	machine string
	// pools is how many pools a machine has addresses of.
	pools int
	// claims are those that the provider makes for a machine. The machine itself owns them here: what owns them there, a VSphereVM or a
	// Metal3Data, comes and goes with it.
	claims func(ctx context.Context, c client.Reader, machine *unstructured.Unstructured) ([]client.Object, error)
}

// ref is a reference to a pool.
type ref struct {
	APIGroup string `json:"apiGroup"`
	Kind     string `json:"kind"`
	Name     string `json:"name"`
}

func (r ref) claim(name string) client.Object {
	return builder.IPAddressClaim("", name, r.Kind, r.Name).WithPoolGroup(r.APIGroup).Build()
}

// read reads the spec of an object.
func read(object *unstructured.Unstructured, spec any) error {
	fields, _, err := unstructured.NestedMap(object.Object, "spec")
	if err != nil {
		return err
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(fields, spec)
}

var vsphere = shape{
	name: "vsphere", machine: "VSphereMachine", pools: 2,
	claims: func(_ context.Context, _ client.Reader, machine *unstructured.Unstructured) (claims []client.Object, err error) {
		spec := struct {
			Network struct {
				Devices []struct {
					AddressesFromPools []ref `json:"addressesFromPools"`
				} `json:"devices"`
			} `json:"network"`
		}{}
		if err = read(machine, &spec); err != nil {
			return nil, err
		}
		for d, device := range spec.Network.Devices {
			for i, pool := range device.AddressesFromPools {
				claims = append(claims, pool.claim(fmt.Sprintf("%s-%d-%d", machine.GetName(), d, i)))
			}
		}
		return claims, nil
	},
}

var proxmox = shape{
	name: "proxmox", machine: "ProxmoxMachine", pools: 2,
	claims: func(_ context.Context, _ client.Reader, machine *unstructured.Unstructured) (claims []client.Object, err error) {
		spec := struct {
			Network struct {
				NetworkDevices []struct {
					Name      string `json:"name"`
					IPPoolRef []ref  `json:"ipPoolRef"`
				} `json:"networkDevices"`
			} `json:"network"`
		}{}
		if err = read(machine, &spec); err != nil {
			return nil, err
		}
		for _, device := range spec.Network.NetworkDevices {
			for i, pool := range device.IPPoolRef {
				claims = append(claims, pool.claim(fmt.Sprintf("%s-%s-%02d-inet", machine.GetName(), device.Name, i)))
			}
		}
		return claims, nil
	},
}

var metal3 = shape{
	name: "metal3", machine: "Metal3Machine", pools: 3,
	claims: metal3Claims,
}

// dataTemplate is what of a Metal3DataTemplate names pools.
type dataTemplate struct {
	MetaData struct {
		IPAddresses []ref `json:"ipAddressesFromIPPool"`
		Gateways    []ref `json:"gatewaysFromIPPool"`
	} `json:"metaData"`
	NetworkData struct {
		Networks struct {
			IPv4 []struct {
				IPAddressFromIPPool string `json:"ipAddressFromIPPool"`
				FromPoolRef         *ref   `json:"fromPoolRef"`
				Routes              []struct {
					Gateway struct {
						FromIPPool string `json:"fromIPPool"`
					} `json:"gateway"`
				} `json:"routes"`
			} `json:"ipv4"`
		} `json:"networks"`
		Services struct {
			DNSFromIPPool string `json:"dnsFromIPPool"`
		} `json:"services"`
	} `json:"networkData"`
}

// metal3Claims are one of each pool that the data template of a machine names, however often: of Metal3's kind for pools of Metal3's.
func metal3Claims(ctx context.Context, c client.Reader, machine *unstructured.Unstructured) (claims []client.Object, err error) {
	spec := struct {
		DataTemplate struct {
			Name string `json:"name"`
		} `json:"dataTemplate"`
	}{}
	if err = read(machine, &spec); err != nil {
		return nil, err
	}
	data := &unstructured.Unstructured{}
	data.SetGroupVersionKind(schema.GroupVersionKind{Group: infrastructure, Version: "v1beta1", Kind: "Metal3DataTemplate"})
	if err = c.Get(ctx, client.ObjectKey{Namespace: machine.GetNamespace(), Name: spec.DataTemplate.Name}, data); err != nil {
		return nil, err
	}
	template := dataTemplate{}
	if err = read(data, &template); err != nil {
		return nil, err
	}
	for _, pool := range template.pools() {
		name := machine.GetName() + "-" + pool.Name
		if pool.Kind != "" && pool.APIGroup != m3v1.GroupVersion.Group {
			claims = append(claims, pool.claim(name))
			continue
		}
		claim := &m3v1.IPClaim{Spec: m3v1.IPClaimSpec{Pool: m3v1.ObjectReference{Name: pool.Name}}}
		claim.Name = name
		claims = append(claims, claim)
	}
	return claims, nil
}

// pools are those that the template names, each once.
func (t *dataTemplate) pools() (pools []ref) {
	named := slices.Concat(t.MetaData.IPAddresses, t.MetaData.Gateways, []ref{{Name: t.NetworkData.Services.DNSFromIPPool}})
	for _, network := range t.NetworkData.Networks.IPv4 {
		if network.FromPoolRef != nil {
			named = append(named, *network.FromPoolRef)
		} else {
			named = append(named, ref{Name: network.IPAddressFromIPPool})
		}
		for _, route := range network.Routes {
			named = append(named, ref{Name: route.Gateway.FromIPPool})
		}
	}
	for _, pool := range named {
		isKnown := slices.ContainsFunc(pools, func(other ref) bool { return other.Name == pool.Name })
		if pool.Name != "" && !isKnown {
			pools = append(pools, pool)
		}
	}
	return pools
}
