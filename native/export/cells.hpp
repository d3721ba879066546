// Cells: a table's column, in parts, as text for CSV (RFC 4180) or JSON (RFC 8259). Numbers read
// back the same.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.hpp"

namespace yantra {

enum class CellKind : u8 { whole, ticks, real, coded, given };

struct Cells {
    CellKind kind = CellKind::whole;
    std::span<const u64> values;          // of ticks, all ones for none; of real, the bits
    u64 number = 0;                       // ticks in a nanosecond; of coded, which texts
    std::vector<std::string> given;       // as they are; empty for none

    std::size_t size() const { return kind == CellKind::given ? given.size() : values.size(); }
};

class TableWriter {
public:
    explicit TableWriter(bool json) : json_(json) {}

    // Texts for codes; returns the list's number.
    u64 new_texts();

    void add_texts(u64 number, const std::vector<std::string>& texts);

    // As lines of CSV.
    std::string rows(const std::vector<Cells>& columns) const;

    std::string elements(const Cells& column) const;

private:
    void append(std::string& out, const Cells& column, std::size_t at) const;

    bool json_;
    std::vector<std::vector<std::string>> texts_;   // quoted where the format requires it
};

void append_field(std::string& out, std::string_view text);

// Written like repr() of Python's float.
void append_real(std::string& out, double value);

}  // namespace yantra
