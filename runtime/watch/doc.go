// Package watch tells which source and configuration files of a model's folder have changed.
//
// A change is reported once, when the file's content differs and nothing has been written for a moment. So a save is
// one report, however the editor writes it. It looks at *.py, cog.yaml, pyproject.toml, requirements*.txt and
// .cog/openapi_schema.json. It leaves out hidden folders, virtual environments, __pycache__, node_modules and
// site-packages.
package watch
