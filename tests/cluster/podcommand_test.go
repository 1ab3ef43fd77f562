package cluster

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// commandOf is the command line of a pod's container, with the environment and the files that the manifest gives it.
// Folders are replaced by those that hold their content here.
func (k *kubelet) commandOf(p *pod, ip string) (argv, env []string, err error) {
	spec := p.Spec.Containers[0]
	name, _, _ := strings.Cut(spec.Image, ":")
	of := k.images[name]
	if of == nil {
		return nil, nil, fmt.Errorf("the test has no image %s", spec.Image)
	}
	program, dir := of(ip), filepath.Join(os.Getenv("TMPDIR"), ip)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, nil, err
	}
	folders := maps.Clone(program.files)
	if folders == nil {
		folders = map[string]string{}
	}
	files := map[string]map[string]string{}
	for _, mount := range spec.VolumeMounts {
		for _, v := range p.Spec.Volumes {
			if v.Name != mount.Name {
				continue
			}
			folder, texts, err := k.content(p, v)
			switch {
			case err != nil:
				return nil, nil, err
			case texts != nil:
				folder = filepath.Join(dir, v.Name)
				folders[mount.MountPath], files[folder] = folder, texts
			case folder != "":
				folders[mount.MountPath] = folder
			}
		}
	}
	var pairs []string
	for _, path := range slices.SortedFunc(maps.Keys(folders),
		func(a, b string) int { return cmp.Compare(len(b), len(a)) }) {
		pairs = append(pairs, path, folders[path])
	}
	here := strings.NewReplacer(pairs...)
	for folder, texts := range files {
		for name, text := range texts {
			if err := cmp.Or(os.MkdirAll(folder, 0o700),
				os.WriteFile(filepath.Join(folder, name), []byte(here.Replace(text)), 0o600)); err != nil {
				return nil, nil, err
			}
		}
	}
	argv = slices.Clone(program.argv)
	for _, arg := range spec.Args {
		argv = append(argv, here.Replace(arg))
	}
	given, err := k.variables(p)
	env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "HOSTNAME=" + p.Metadata.Name,
		"KUBERNETES_SERVICE_HOST=10.96.0.1",
	}, program.env...)
	return append(argv, program.after...), append(env, given...), err
}

// content is a volume's: the folder of a claim's disk, or the texts of files. An empty directory has neither.
func (k *kubelet) content(p *pod, v volume) (folder string, texts map[string]string, err error) {
	switch {
	case v.ConfigMap.Name != "":
		var config struct{ Data map[string]string }
		_, err = k.api.do(http.MethodGet, objectsOf(p)+"configmaps/"+v.ConfigMap.Name, nil, &config)
		return "", config.Data, err
	case v.Secret.SecretName != "":
		secret, err := k.secret(p, v.Secret.SecretName)
		return "", secret, err
	case v.PersistentVolumeClaim.ClaimName != "":
		var claim struct{ Spec struct{ VolumeName string } }
		_, err = k.api.do(http.MethodGet, objectsOf(p)+"persistentvolumeclaims/"+v.PersistentVolumeClaim.ClaimName, nil,
			&claim)
		return filepath.Join(os.Getenv("TMPDIR"), claim.Spec.VolumeName), nil, err
	}
	return "", nil, nil
}

// objectsOf is the path of what lies in the namespace of a pod.
func objectsOf(p *pod) string { return "/api/v1/namespaces/" + p.Metadata.Namespace + "/" }

// secret is what a secret of a pod's namespace holds.
func (k *kubelet) secret(p *pod, name string) (map[string]string, error) {
	var secret struct{ Data map[string][]byte }
	_, err := k.api.do(http.MethodGet, objectsOf(p)+"secrets/"+name, nil, &secret)
	texts := map[string]string{}
	for key, value := range secret.Data {
		texts[key] = string(value)
	}
	return texts, err
}

// variables are those of the manifest.
func (k *kubelet) variables(p *pod) (list []string, err error) {
	var pairs []string
	for _, v := range p.Spec.Containers[0].Env {
		value := strings.NewReplacer(pairs...).Replace(v.Value)
		switch secret := v.ValueFrom.SecretKeyRef; {
		case secret.Name != "":
			values, err := k.secret(p, secret.Name)
			if err != nil {
				return nil, err
			}
			value = values[secret.Key]
		case v.ValueFrom.FieldRef.FieldPath == "metadata.name":
			value = p.Metadata.Name
		}
		pairs = append(pairs, "$("+v.Name+")", value)
		list = append(list, v.Name+"="+value)
	}
	return list, nil
}
