package main

type configCommand struct{}

// Run prints the configuration as it is in effect; secrets show where they come from only.
func (c *configCommand) Run(p *program) error {
	loaded, err := p.loadServed()
	if err != nil {
		return err
	}
	_, err = p.stdout.Write(loaded.Redacted())
	return err
}
