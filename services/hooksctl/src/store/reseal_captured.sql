-- Keeps the secret of source $1 sealed anew ($2) in the place of what was read ($3); nothing where another came since.
update captured_secrets
set sealed = $2
where source = $1 and sealed = $3
