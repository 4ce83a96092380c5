{# Fails if a class, the rows that are equal in all columns, has fewer than k rows.
   A missing value is a value. With unit, persons are counted instead of rows; rows
   without one are one person's. What is returned has sizes and no cell of the table. #}
{% test k_anonymous(model, columns, k, unit=none) %}
select n, count(*) as classes
from (
    select {{ core_mondrian.core_mondrian_size(unit) }} as n
    from {{ model }}
    group by {{ core_mondrian.core_mondrian_columns(columns) }}
) as sizes
where n < {{ k | int }}
group by n
{% endtest %}

{% macro core_mondrian_size(unit) %}
    {%- if unit is none -%} count(*)
    {%- else -%} {{ core_mondrian.core_mondrian_values(unit) }}
    {%- endif -%}
{% endmacro %}

{% macro core_mondrian_values(column) -%}
    count(distinct {{ adapter.quote(column) }})
    + max(case when {{ adapter.quote(column) }} is null then 1 else 0 end)
{%- endmacro %}

{% macro core_mondrian_columns(columns) -%}
    {%- if columns is string or not columns -%}
        {{ exceptions.raise_compiler_error("columns is a list of quasi-identifiers") }}
    {%- endif -%}
    {%- for column in columns -%}
        {{ adapter.quote(column) }}{{ ", " if not loop.last }}
    {%- endfor -%}
{%- endmacro %}
