"""What every part uses: errors, units, records, plug-ins by name, fields, files and texts."""
