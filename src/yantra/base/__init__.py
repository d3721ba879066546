"""What every part uses: errors, units, records, plug-ins, fields, files and texts."""
