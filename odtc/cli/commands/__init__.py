"""The commands of `odtc`, one module a command or a family of commands; `odtc.cli.app` lists them."""
