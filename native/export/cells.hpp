// Cells: a table's column, and its values as text for CSV or JSON.
//
// Numbers are written as in Python: real ones in the shortest form that reads back, with a decimal
// point. Columns come in parts, so no table is whole in memory. Source: RFC 4180 (CSV), RFC 8259
// (JSON).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/types.hpp"
#include "base/vector.hpp"

namespace yantra {

enum class CellKind : u8 { whole, ticks, real, coded, given };

struct Cells {
    CellKind kind = CellKind::whole;
    std::span<const u64> values;          // of ticks, all ones for none; of real, the bits
    u64 number = 0;                       // ticks in a nanosecond; of coded, which texts
    Vector<std::string> given;       // as they are; empty for none

    std::size_t size() const { return kind == CellKind::given ? given.size() : values.size(); }
};

class TableWriter {
public:
    explicit TableWriter(bool json) : json_(json) {}

    // Texts for codes; returns the list's number.
    u64 new_texts();

    void add_texts(u64 number, const Vector<std::string>& texts);

    // As lines of CSV.
    std::string rows(const Vector<Cells>& columns) const;

    // As elements of a JSON list, with commas between.
    std::string elements(const Cells& column) const;

private:
    void append(std::string& out, const Cells& column, std::size_t at) const;

    bool json_;
    Vector<Vector<std::string>> texts_;   // quoted where the format requires it
};

// Quoted if it holds a comma, a quote or an end of line.
void append_field(std::string& out, std::string_view text);

// Written like repr() of Python's float.
void append_real(std::string& out, double value);

}  // namespace yantra
